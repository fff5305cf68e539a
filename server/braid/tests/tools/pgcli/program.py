"""pgcli: what it reads for completion, its completions, its special commands, its results."""

import time

from pgcli.completion_refresher import CompletionRefresher
from pgcli.pgcompleter import PGCompleter
from pgcli.pgexecute import PGExecute, ViewDef
from pgspecial.main import PGSpecial
from prompt_toolkit.document import Document
from support import connection as address
from support import in_order, rows, say, step

SCHEMA = """
CREATE SCHEMA shop;
CREATE TYPE shop.mood AS ENUM ('sad', 'ok');
CREATE TYPE shop.place AS (street text, number int);
CREATE TABLE shop.authors (id serial PRIMARY KEY, name text NOT NULL, feels shop.mood DEFAULT 'ok');
CREATE TABLE shop.books (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  author_id int NOT NULL REFERENCES shop.authors,
  title varchar(50) DEFAULT 'none'
);
CREATE VIEW shop.titles AS
  SELECT title, name FROM shop.books b JOIN shop.authors a ON a.id = b.author_id;
CREATE MATERIALIZED VIEW shop.counts AS SELECT count(*) AS n FROM shop.books;
CREATE FUNCTION shop.pairs(low int, high int DEFAULT 3, OUT a int, OUT b text) RETURNS SETOF record
  LANGUAGE sql AS $$ SELECT n, repeat('x', n) FROM generate_series(low, high) AS n $$;
CREATE FUNCTION shop.listed(VARIADIC ids int[]) RETURNS TABLE (id int) LANGUAGE sql
  AS $$ SELECT unnest(ids) $$;
CREATE PROCEDURE shop.reset() LANGUAGE sql AS 'SELECT 1';
CREATE AGGREGATE shop.product(numeric) (sfunc = numeric_mul, stype = numeric, initcond = '1');
SET search_path = shop, public;
INSERT INTO authors (name) VALUES ('Ann'), ('Bob');
INSERT INTO books (author_id, title) VALUES (1, 'One'), (2, 'Two');
"""

# What the completions of this schema begin with; those of the catalogs are left out.
OURS = ("shop", "authors", "books", "title", "counts", "pairs", "mood", "a.", "b.", "feels")

parts = address()
parts["password"] = parts["password"] or ""
executor = PGExecute(**parts)
special = PGSpecial()


def alike(value):
    """The value; the name of the user in this run is `owner`."""
    return "owner" if value == executor.user else value


def run(text):
    """Runs statements and commands as the prompt does; prints what they answer."""
    for title, found, headers, status, *_ in executor.run(text, special, on_error_resume=True):
        lines = [] if found is None else [[alike(value) for value in row] for row in found]
        for shown in (title, headers):
            if shown:
                say(shown)
        rows(lines)
        if status:
            say(status)


@step("schema")
def schema():
    run(SCHEMA)


@step("relations and columns")
def relations():
    say(executor.search_path())
    in_order(name for name in executor.schemata() if not name.startswith(("braid", "pg_")))
    in_order(name for name in executor.tables() if name[0] == "shop")
    in_order(name for name in executor.views() if name[0] == "shop")
    rows(column for column in executor.table_columns() if column[0] == "shop")
    rows(column for column in executor.view_columns() if column[0] == "shop")
    rows(executor.foreignkeys())


@step("types and functions")
def types():
    in_order(found for found in executor.datatypes() if found[0] == "shop")
    found = [one for one in executor.functions() if one.schema_name == "shop"]
    for one in sorted(found, key=lambda one: one.func_name):
        say(one.func_name, one.arg_names, one.arg_modes, one.return_type)
        say(one.is_aggregate, one.is_window, one.is_set_returning, one.arg_defaults)
    names = {one.func_name for one in executor.functions() if one.schema_name == "pg_catalog"}
    say(sorted(names & {"lower", "sum", "now", "generate_series"}))


@step("types of arguments")
def arguments():
    for one in executor.functions():
        if one.schema_name == "shop":
            say(one.func_name, one.arg_types)


@step("definitions")
def definitions():
    say(executor.view_definition("shop.titles"))
    say(executor.function_definition("shop.pairs"))
    executor.set_timezone("Europe/Berlin")
    say(executor.get_timezone(), executor.transaction_indicator)


@step("completions")
def completions():
    done = []
    settings = {"single_connection": True}
    CompletionRefresher().refresh(executor, special, done.append, settings=settings)
    while not done:
        time.sleep(0.01)
    (completer,) = done
    assert isinstance(completer, PGCompleter)
    for text in (
        "SELECT * FROM ",
        "SELECT * FROM bo",
        "SELECT  FROM authors",
        "SELECT * FROM books b JOIN ",
        "SELECT * FROM books b JOIN authors a ON ",
        "INSERT INTO books (",
        "SELECT * FROM pai",
        "UPDATE authors SET ",
        "DROP VIEW ",
        "CREATE TABLE x (y mo",
        "\\d ",
        "ALTER TABLE books ALTER COLUMN ti",
    ):
        place = text.index("  ") + 1 if "  " in text else len(text)
        found = completer.get_completions(Document(text, place), None)
        say(text, sorted(one.text for one in found if one.text.startswith(OURS)))


@step("commands")
def commands():
    for command in (
        "\\dt shop.*",
        "\\dv shop.*",
        "\\dm shop.*",
        "\\di shop.*",
        "\\ds shop.*",
        "\\df shop.*",
        "\\dT shop.*",
        "\\d shop.books",
        "\\d shop.titles",
        "\\d+ shop.authors",
        "\\sf shop.pairs",
    ):
        say(command)
        run(command)


@step("results and errors")
def results():
    run("SELECT * FROM books ORDER BY id; SELECT 1 AS one \\G")
    run("INSERT INTO authors (name) VALUES ('Cid'); DELETE FROM authors WHERE name = 'Cid'")
    for _, _, _, status, _, success, _ in executor.run(
        "SELECT 1 / 0; SELECT 2", special, exception_formatter=str, on_error_resume=True
    ):
        say(status, success)
    executor.conn.execute("BEGIN")
    say(executor.transaction_indicator)
    list(executor.run("SELECT * FROM nowhere", exception_formatter=str))
    say(executor.transaction_indicator)
    executor.conn.execute("ROLLBACK")
