"""psycopg 3: connections, pool, pipeline, COPY, server-side cursors, notifications."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from ipaddress import ip_address
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import class_row, dict_row, namedtuple_row, scalar_row
from psycopg.types.composite import CompositeInfo, register_composite
from psycopg.types.enum import EnumInfo, register_enum
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from support import URL, fails, rows, say, step

conn = psycopg.connect(URL, autocommit=True)


@step("schema")
def schema():
    conn.execute("""
        CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
        CREATE TABLE authors (
            id serial PRIMARY KEY,
            uid uuid NOT NULL DEFAULT gen_random_uuid(),
            email text NOT NULL,
            feeling mood NOT NULL DEFAULT 'ok',
            meta jsonb NOT NULL DEFAULT '{}',
            tags text[] NOT NULL DEFAULT '{}',
            born date,
            created_at timestamptz NOT NULL DEFAULT now()
        );
        CREATE UNIQUE INDEX authors_email ON authors (lower(email));
        CREATE TABLE books (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            author_id int NOT NULL REFERENCES authors ON DELETE CASCADE,
            title varchar(100) NOT NULL,
            price numeric(10, 2) CHECK (price >= 0),
            UNIQUE (author_id, title)
        )
    """)
    say(conn.info.transaction_status.name, conn.info.server_version // 10000)


@step("values of many types, text and binary")
def values():
    sent = [
        True,
        1,
        2**40,
        1.5,
        Decimal("12.340"),
        "text ' \\ é",
        b"\x00\xff",
        date(2024, 2, 29),
        datetime(2024, 2, 29, 12, 30, tzinfo=timezone.utc),
        timedelta(days=3, seconds=4),
        UUID(int=7),
        ip_address("10.0.0.1"),
        Jsonb({"a": [1, None]}),
        [1, 2, None],
        ["x", 'y "z"', None],
        [[1, 2], [3, 4]],
        [],
        None,
    ]
    for binary in (False, True):
        found = []
        for value in sent:
            cursor = conn.execute("SELECT %s", [value], binary=binary)
            found.append([cursor.description[0].type_code, str(cursor.fetchone()[0])])
        rows(found)


@step("columns of a result")
def columns():
    cursor = conn.execute("SELECT * FROM books")
    for column in cursor.description:
        say([column.name, column.type_code, column.type_display, column.internal_size])
    say(cursor.statusmessage, cursor.rowcount)


@step("insert, executemany with RETURNING, upsert")
def insert():
    with conn.cursor(row_factory=dict_row) as cursor:
        cursor.execute(
            "INSERT INTO authors (email, meta, tags, born, created_at) "
            "VALUES (%(email)s, %(meta)s, %(tags)s, %(born)s, %(at)s) RETURNING *",
            {
                "email": "Ann@example.org",
                "meta": Jsonb({"langs": ["en"]}),
                "tags": ["a", "b"],
                "born": date(1970, 1, 2),
                "at": datetime.fromtimestamp(0, timezone.utc),
            },
        )
        row = cursor.fetchone()
        say(len(str(row.pop("uid"))), row)
        books = [(1, f"book {n}", Decimal(n) * 3 / 2) for n in range(1, 31)]
        cursor.executemany(
            "INSERT INTO books (author_id, title, price) VALUES (%s, %s, %s) RETURNING id",
            books,
            returning=True,
        )
        ids = [cursor.fetchone()["id"]]
        while cursor.nextset():
            ids.append(cursor.fetchone()["id"])
        say(cursor.rowcount, len(ids), ids[-1])
        cursor.execute("""
            INSERT INTO authors (email) VALUES ('ANN@example.org')
            ON CONFLICT (lower(email)) DO UPDATE SET tags = authors.tags || ARRAY['again']
            RETURNING id, tags
        """)
        rows(cursor)


class Mood(Enum):
    """The enum of the database, by the names of its labels."""

    sad = 1
    ok = 2
    happy = 3


@step("an enum and a composite type")
def registered():
    info = EnumInfo.fetch(conn, "mood")
    say(info.name, info.labels, info.array_oid != info.oid)
    register_enum(info, conn, Mood)
    cursor = conn.execute(
        "SELECT feeling, %s, ARRAY['sad', 'happy']::mood[] FROM authors", [Mood.sad]
    )
    say([str(value) for value in cursor.fetchone()])
    found = conn.execute("SELECT %s", [[Mood.ok, Mood.happy]]).fetchone()[0]
    say([str(value) for value in found])
    composite = CompositeInfo.fetch(conn, "books")
    say(composite.field_names, composite.field_types)
    register_composite(composite, conn)
    book = conn.execute("SELECT books FROM books WHERE id = 2").fetchone()[0]
    say(book.title, book.price)


@step("pages and relations")
def relations():
    page = "SELECT id, title FROM books WHERE id > %s ORDER BY id LIMIT 3"
    last = 0
    for _ in range(2):
        found = conn.execute(page, [last]).fetchall()
        last = found[-1][0]
        rows(found)
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        cursor.execute("""
            SELECT a.email, count(*) AS books, sum(b.price) AS total,
                   array_agg(b.id ORDER BY b.id DESC) FILTER (WHERE b.id < 4) AS first
            FROM authors a JOIN books b ON b.author_id = a.id GROUP BY a.id
        """)
        row = cursor.fetchone()
        say(row.email, row.books, str(row.total), row.first)


@step("composed statements")
def composed():
    query = sql.SQL("SELECT {fields} FROM {table} WHERE {key} = ANY({ids}) ORDER BY 1").format(
        fields=sql.SQL(", ").join(map(sql.Identifier, ["id", "title"])),
        table=sql.Identifier("public", "books"),
        key=sql.Identifier("id"),
        ids=sql.Placeholder(),
    )
    say(query.as_string(conn))
    rows(conn.execute(query, [[3, 1]]))
    rows(conn.execute(sql.SQL("SELECT {}, {}").format(sql.Literal("it's"), sql.Literal([1, 2]))))


@step("transactions, savepoints, errors and what follows them")
def transactions():
    with conn.transaction():
        conn.execute("UPDATE books SET price = 1 WHERE id = 1")
        with fails(), conn.transaction():
            conn.execute("INSERT INTO books (author_id, title) VALUES (99, 'none')")
        with conn.transaction() as inner:
            conn.execute("DELETE FROM books WHERE id = 2")
            raise psycopg.Rollback(inner)
    rows(conn.execute("SELECT id, price FROM books WHERE id < 3 ORDER BY id"))
    with fails():
        conn.execute("INSERT INTO books (author_id, title) VALUES (1, 'book 1')")
    with fails():
        conn.execute("UPDATE books SET price = -1 WHERE id = 1")
    with fails():
        conn.execute("INSERT INTO authors (email, feeling) VALUES ('x', 'bored')")
    with fails():
        conn.execute("SELECT 1 / %s", [0])
    try:
        conn.execute("SELECT nosuch FROM books")
    except psycopg.errors.UndefinedColumn as error:
        say(error.diag.severity, error.diag.statement_position, error.diag.message_primary)
    rows(conn.execute("SELECT 'still here'"))


@step("prepared statements")
def prepared():
    with psycopg.connect(URL, autocommit=True) as own:
        own.prepare_threshold = 2
        for number in range(1, 6):
            own.execute("SELECT title FROM books WHERE id = %s", [number])
        own.execute("SELECT %s::text", ["at once"], prepare=True)
        rows(own.execute("""
            SELECT statement, parameter_types::text, from_sql
            FROM pg_prepared_statements WHERE statement NOT LIKE '%pg_prep%' ORDER BY statement
        """))
        own.execute("ALTER TABLE books ADD COLUMN pages int")
        rows(own.execute("SELECT title FROM books WHERE id = %s", [1]))
        own.execute("DEALLOCATE ALL")
    conn.execute("ALTER TABLE books DROP COLUMN pages")


@step("pipeline")
def pipeline():
    with conn.pipeline() as pipe, conn.cursor() as cursor:
        first = conn.execute("SELECT 1")
        conn.execute("INSERT INTO books (author_id, title) VALUES (1, 'piped')")
        pipe.sync()
        cursor.execute("SELECT count(*) FROM books")
        say(first.fetchone(), cursor.fetchone())
    with fails(), conn.pipeline():
        conn.execute("INSERT INTO books (author_id, title) VALUES (1, 'undone')")
        conn.execute("SELECT 1 / 0")
        conn.execute("SELECT 2")
    rows(conn.execute("SELECT title FROM books WHERE title IN ('piped', 'undone')"))


@step("COPY, text and binary")
def copy():
    conn.execute("CREATE TABLE target (id int, name text, at timestamptz, many int[], doc jsonb)")
    at = datetime(2024, 1, 1, tzinfo=timezone.utc)
    with conn.cursor() as cursor:
        with cursor.copy("COPY target FROM STDIN") as to:
            for number in range(3):
                to.write_row((number, f"tab\t{number}", at, [number, None], Jsonb({"n": number})))
        say(cursor.rowcount, cursor.statusmessage)
        with cursor.copy("COPY target FROM STDIN (FORMAT binary)") as to:
            to.set_types(["int4", "text", "timestamptz", "int4[]", "jsonb"])
            for number in range(3, 5):
                to.write_row((number, None, at, [number], Jsonb([number])))
        say(cursor.rowcount)
        with cursor.copy("COPY (SELECT * FROM target ORDER BY id) TO STDOUT") as out:
            for line in out:
                say(bytes(line).decode())
        query = "COPY (SELECT id, many FROM target ORDER BY id) TO STDOUT (FORMAT binary)"
        with cursor.copy(query) as out:
            out.set_types(["int4", "int4[]"])
            rows(out.rows())
        with fails(), cursor.copy("COPY target FROM STDIN") as to:
            to.write_row(("not a number", "x", at, None, None))
        with fails(), cursor.copy("COPY target FROM STDIN") as to:
            to.write_row((9, "x", at, None, None))
            raise ValueError("the program stops")
    rows(conn.execute("SELECT count(*) FROM target"))


@step("server-side cursors")
def cursors():
    with conn.transaction(), conn.cursor("books_cursor", scrollable=True) as cursor:
        cursor.execute("SELECT id FROM books WHERE id > %s ORDER BY id", [5])
        say(cursor.fetchone(), cursor.fetchmany(2))
        cursor.scroll(-1)
        say(cursor.fetchone())
        cursor.scroll(10, mode="absolute")
        say(cursor.fetchone())
        cursor.itersize = 7
        say(sum(1 for _ in cursor))
    with conn.cursor("held", withhold=True) as cursor:
        cursor.execute("SELECT id FROM books ORDER BY id LIMIT 2")
        rows(cursor)


@step("notifications")
def notifications():
    with psycopg.connect(URL, autocommit=True) as sender:
        conn.execute("LISTEN news")
        with sender.transaction():
            sender.execute("NOTIFY news, 'one'")
            sender.execute("SELECT pg_notify('news', %s)", ["two"])
        for note in conn.notifies(timeout=5, stop_after=2):
            say(note.channel, note.payload, note.pid == sender.info.backend_pid)
        conn.execute("UNLISTEN *")


@step("classes of rows, one value, a stream")
def factories():
    class Book:
        def __init__(self, id, title):
            self.text = f"{id}: {title}"

    with conn.cursor(row_factory=class_row(Book)) as cursor:
        say(cursor.execute("SELECT id, title FROM books ORDER BY id").fetchone().text)
    with conn.cursor(row_factory=scalar_row) as cursor:
        say(cursor.execute("SELECT count(*) FROM books").fetchone())
        say(sum(cursor.stream("SELECT generate_series(1, %s)", [1000])))


@step("pool")
def pool():
    with ConnectionPool(URL, min_size=1, max_size=2) as pooled:
        with fails(), pooled.connection() as one:
            one.execute("INSERT INTO authors (email) VALUES ('undone')")
            one.execute("SELECT 1 / 0")
        with pooled.connection() as one, pooled.connection() as two:
            say(one.execute("SELECT count(*) FROM authors").fetchone())
            say(two.execute("SELECT count(*) FROM authors").fetchone())


@step("async")
async def asynchronous():
    async with AsyncConnectionPool(URL, min_size=1, open=False) as pooled:
        async with pooled.connection() as own:
            async with own.transaction():
                cursor = await own.execute("SELECT id FROM books ORDER BY id LIMIT 2 FOR UPDATE")
                rows(await cursor.fetchall())
            async with own.pipeline():
                await own.execute("INSERT INTO authors (email) VALUES ('async')")
            async with own.cursor() as cursor, cursor.copy("COPY books (id) TO STDOUT") as out:
                say(len([line async for line in out]))
            async with own.cursor("slow") as cursor:
                await cursor.execute("SELECT generate_series(1, 250)")
                say(sum([row[0] async for row in cursor]))


@step("cancel, timeouts, isolation")
def limits():
    with psycopg.connect(URL) as own:
        own.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        own.read_only = True
        rows(own.execute("SHOW transaction_isolation"))
        with fails():
            own.execute("DELETE FROM books")
        own.rollback()
        own.read_only = False
        own.execute("SET statement_timeout = '50ms'")
        with fails():
            own.execute("SELECT pg_sleep(5)")
        own.rollback()
        say(own.info.transaction_status.name, own.info.parameter_status("TimeZone") is not None)


@step("two phases")
def two_phases():
    own = psycopg.connect(URL)
    own.tpc_begin(own.xid(1, "tools_psycopg", "b"))
    own.execute("SELECT 1")
    own.tpc_prepare()
    own.close()
    with psycopg.connect(URL) as other:
        waiting = [xid for xid in other.tpc_recover() if xid.gtrid == "tools_psycopg"]
        other.rollback()
        for xid in waiting:
            say(xid.format_id, xid.gtrid, xid.bqual)
            other.tpc_commit(xid)
        with fails():
            other.tpc_commit(waiting[0])



conn.close()
