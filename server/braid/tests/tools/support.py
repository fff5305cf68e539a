"""What the Python programs share: where the database is, and how a step prints its results.

A program is a list of steps. A step prints `== name`, then its lines. A step that raises prints
the error and the program goes on, so that one run shows everything that differs.
"""

import asyncio
import inspect
import json
import os
from urllib.parse import urlsplit

# The database of this run; each program has an empty one of its own.
URL = os.environ["DATABASE_URL"]


def connection():
    """The parts of the address, for tools that do not take a URL."""
    parts = urlsplit(URL)
    return {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "password": parts.password,
        "database": parts.path[1:],
    }


def say(*values):
    """Prints one line: texts as they are, everything else as JSON."""
    print(*(value if isinstance(value, str) else as_json(value) for value in values), flush=True)


def rows(found):
    """Prints each row as a line."""
    found = list(found)
    for row in found:
        say(row)
    say(f"({len(found)} rows)")


def in_order(found):
    """Prints the rows in the order of their texts, for lists that come without ORDER BY."""
    lines = sorted(as_json(row) for row in found)
    for line in lines:
        say(line)
    say(f"({len(lines)} rows)")


def step(name):
    """Runs the function below it as a step, at once: plain or async."""

    def run(function):
        say(f"== {name}")
        try:
            result = function()
            if inspect.iscoroutine(result):
                loop().run_until_complete(result)
        except Exception as error:
            say("error", describe(error))
        return function

    return run


def loop():
    """The one event loop of the program, so that connections live on between steps."""
    global _loop
    if _loop is None:
        _loop = asyncio.new_event_loop()
    return _loop


_loop = None


class fails:
    """Expects that its block fails, and prints how: `with fails(): …`."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if error is None:
            say("no error, although one was expected")
            return False
        say("fails with", describe(error))
        return isinstance(error, Exception)


def describe(error):
    """The SQLSTATE, message and constraint of the server's error below a tool's own error."""
    inner = error
    while inner is not None:
        state = getattr(inner, "sqlstate", None)
        if isinstance(state, str):
            return server_error(inner, state)
        inner = getattr(inner, "orig", None) or inner.__cause__
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"


def server_error(error, state):
    # psycopg has the fields in `diag`, asyncpg in the error itself.
    diag = getattr(error, "diag", None)
    message = getattr(diag, "message_primary", None) or getattr(error, "message", None)
    constraint = getattr(diag or error, "constraint_name", None)
    line = f"{type(error).__name__} {state} {message or str(error).splitlines()[0]}"
    return line + (f" [{constraint}]" if constraint else "")


def as_json(value):
    return json.dumps(value, default=plain, ensure_ascii=False)


def plain(value):
    """A value that JSON does not know, as its text; rows of drivers as lists or objects."""
    if hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return str(value)
