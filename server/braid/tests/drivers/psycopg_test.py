"""psycopg 3 against a server: `python psycopg_test.py URL`.

Does what programs do with it: parameters and results in text and in binary, all basic types there
and back, batches, COPY, transactions, error classes, reading the catalog. The same file passes on
PostgreSQL 15. Prints a line for each failure and the counts; exits 1 when one failed.
"""

import datetime as dt
import decimal
import logging
import sys
import traceback
import uuid

import psycopg
from psycopg import errors, sql
from psycopg.rows import dict_row, namedtuple_row
from psycopg.types.json import Json, Jsonb

URL = sys.argv[1]
SCHEMA = "psycopg_test"
CHECKS = []


def check(function):
    """Registers a check; each gets a connection of its own, whose transaction is rolled back."""
    CHECKS.append(function)
    return function


def connect(**options):
    """A new connection that finds the test's schema first."""
    return psycopg.connect(URL, options=f"-c search_path={SCHEMA},public", **options)


def equal(found, expected):
    """Fails unless both are equal and of one type."""
    if found != expected or type(found) is not type(expected):
        raise AssertionError(f"found {found!r}, expected {expected!r}")


UTC = dt.timezone.utc
VALUES = [
    ("bool", True),
    ("bool", False),
    ("int2", -32768),
    ("int4", 2147483647),
    ("int8", -9223372036854775808),
    ("float4", 1.5),
    ("float8", 0.1),
    ("float8", float("inf")),
    ("numeric", decimal.Decimal("12345678901234567890.123456789")),
    ("numeric", decimal.Decimal("-0.00001")),
    ("numeric(8,2)", decimal.Decimal("99.50")),
    ("text", "plain"),
    ("text", "with 'quotes', \\, \n and ünïcödé 🦀"),
    ("text", ""),
    ("varchar(10)", "ten chars!"),
    ("char(3)", "abc"),
    ("bytea", b"\x00\x01\xfe\xff"),
    ("bytea", b""),
    ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("date", dt.date(2024, 2, 29)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timestamp", dt.datetime(2024, 2, 29, 12, 30, 15, 123456)),
    ("timestamptz", dt.datetime(2024, 2, 29, 12, 30, 15, tzinfo=UTC)),
    ("interval", dt.timedelta(days=3, hours=4, microseconds=5)),
    ("json", {"a": [1, 2.5, None, "x"]}),
    ("jsonb", {"nested": {"t": True}}),
    ("int4[]", [1, 2, None, 3]),
    ("int8[]", []),
    ("text[]", ["a", 'b "quoted"', "c,d", "", "NULL"]),
    ("bool[]", [True, False]),
    ("float8[]", [1.0, 2.25]),
    ("numeric[]", [decimal.Decimal("1.10"), decimal.Decimal("2")]),
    ("uuid[]", [uuid.UUID(int=1)]),
    ("date[]", [dt.date(2000, 1, 1)]),
    ("timestamptz[]", [dt.datetime(2000, 1, 1, tzinfo=UTC)]),
    ("bytea[]", [b"a", b"\x00"]),
]


def as_parameter(type_name, value):
    """What a program would pass for a value of this type."""
    return {"json": Json, "jsonb": Jsonb}.get(type_name, lambda same: same)(value)


def round_trip(binary):
    """Every value through a cast parameter, and through a column of its type, and NULL as well."""
    placeholder = "%b" if binary else "%t"
    with connect() as conn, conn.cursor(binary=binary) as cur:
        conn.execute("SET TIME ZONE 'UTC'")
        for number, (name, value) in enumerate(VALUES):
            given = as_parameter(name, value)
            try:
                cur.execute(f"SELECT {placeholder}::{name}", [given])
                equal(cur.fetchone()[0], value)
                cur.execute(f"CREATE TABLE value_{number} (k int PRIMARY KEY, v {name})")
                insert = f"INSERT INTO value_{number} VALUES (%s, {placeholder}), (%s, NULL)"
                cur.execute(insert, [1, given, 2])
                cur.execute(f"SELECT v FROM value_{number} ORDER BY k")
                found = [row[0] for row in cur.fetchall()]
                equal(found[0], value)
                equal(found[1], None)
            except Exception as error:
                raise AssertionError(f"{name} {value!r}: {error}") from error
        conn.rollback()


@check
def types_in_text():
    round_trip(binary=False)


@check
def types_in_binary():
    round_trip(binary=True)


@check
def the_server_is_known_to_the_driver():
    with connect() as conn:
        equal(conn.info.server_version >= 130000, True)
        equal(conn.info.encoding, "utf-8")
        equal(conn.info.parameter_status("client_encoding"), "UTF8")
        equal(conn.info.parameter_status("standard_conforming_strings"), "on")
        equal(conn.info.transaction_status.name, "IDLE")
        equal(conn.info.backend_pid > 0, True)


@check
def prepared_statements_are_used_again():
    with connect(prepare_threshold=0) as conn:
        for number in range(20):
            equal(conn.execute("SELECT %s::int4 + 1", [number]).fetchone()[0], number + 1)
        names = conn.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0]
        equal(names >= 1, True)
        conn.execute("DEALLOCATE ALL")
        equal(conn.execute("SELECT %s::int4 + 1", [41]).fetchone()[0], 42)


@check
def results_are_described():
    with connect() as conn:
        cur = conn.execute("SELECT 1::int8 AS n, 'x'::varchar(7) AS v, 1.5::numeric(6,2) AS d")
        equal([column.name for column in cur.description], ["n", "v", "d"])
        equal([column.type_code for column in cur.description], [20, 1043, 1700])
        equal(cur.description[1].display_size, 7)
        equal((cur.description[2].precision, cur.description[2].scale), (6, 2))
        cur = conn.cursor(row_factory=dict_row)
        equal(cur.execute("SELECT 1 AS a, 'b' AS b").fetchone(), {"a": 1, "b": "b"})
        cur = conn.cursor(row_factory=namedtuple_row)
        equal(cur.execute("SELECT 2 AS a").fetchone().a, 2)


@check
def batches():
    with connect() as conn:
        conn.execute("CREATE TABLE batch (k int PRIMARY KEY, v text)")
        with conn.cursor() as cur:
            rows = [(k, f"value {k}") for k in range(500)]
            cur.executemany("INSERT INTO batch VALUES (%s, %s)", rows)
            equal(cur.rowcount, 500)
            cur.executemany(
                "INSERT INTO batch VALUES (%s, %s) RETURNING k", [(1000, "a"), (1001, "b")], returning=True
            )
            found = []
            while True:
                found.append(cur.fetchone()[0])
                if not cur.nextset():
                    break
            equal(found, [1000, 1001])
            cur.execute("UPDATE batch SET v = v || '!' WHERE k < %s", [10])
            equal((cur.rowcount, cur.statusmessage), (10, "UPDATE 10"))
            cur.execute("DELETE FROM batch WHERE k = ANY(%s)", [[1, 2, 3, 9999]])
            equal(cur.rowcount, 3)
            cur.execute("SELECT count(*), min(v) FROM batch")
            equal(cur.fetchone(), (499, "a"))
        conn.rollback()


@check
def copy_in_and_out():
    with connect() as conn, conn.cursor() as cur:
        cur.execute("CREATE TABLE copied (k int PRIMARY KEY, v text, d numeric)")
        with cur.copy("COPY copied FROM STDIN") as copy:
            for row in [(1, "tab\there", decimal.Decimal("1.50")), (2, None, None), (3, "\\", 7)]:
                copy.write_row(row)
        equal(cur.rowcount, 3)
        with cur.copy("COPY copied (k, v) FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write('k,v\n4,"a, b"\n5,\n')
        with cur.copy("COPY (SELECT * FROM copied ORDER BY k) TO STDOUT") as copy:
            rows = list(copy.rows())
        expected = [
            ("1", "tab\there", "1.50"),
            ("2", None, None),
            ("3", "\\", "7"),
            ("4", "a, b", None),
            ("5", None, None),
        ]
        equal(rows, expected)
        conn.rollback()


@check
def binary_copy_in_and_out():
    types = ["int4", "text", "numeric", "timestamptz", "int4[]", "jsonb"]
    now = dt.datetime(2024, 2, 29, 12, 34, 56, 789, tzinfo=dt.timezone.utc)
    rows = [
        (1, "tab\there é", decimal.Decimal("1.50"), now, [1, None, 3], Jsonb({"a": 1})),
        (2, None, None, None, None, None),
    ]
    with connect() as conn, conn.cursor() as cur:
        cur.execute(
            "CREATE TABLE copied_binary"
            " (k int PRIMARY KEY, v text, d numeric, t timestamptz, a int[], j jsonb)"
        )
        with cur.copy("COPY copied_binary FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)
        equal(cur.rowcount, 2)
        query = "COPY (SELECT * FROM copied_binary ORDER BY k) TO STDOUT (FORMAT binary)"
        with cur.copy(query) as copy:
            copy.set_types(types)
            found = list(copy.rows())
        equal([row[:5] for row in found], [row[:5] for row in rows])
        equal(found[0][5], {"a": 1})
        conn.rollback()


@check
def transactions():
    with connect() as conn:
        conn.execute("CREATE TABLE account (id int PRIMARY KEY, balance int)")
        conn.commit()
        with conn.transaction():
            conn.execute("INSERT INTO account VALUES (1, 100)")
            try:
                with conn.transaction():
                    conn.execute("INSERT INTO account VALUES (2, 200)")
                    raise psycopg.Rollback()
            except psycopg.Rollback:
                pass
            try:
                with conn.transaction():
                    conn.execute("INSERT INTO account VALUES (1, 0)")
            except errors.UniqueViolation:
                pass
            conn.execute("INSERT INTO account VALUES (3, 300)")
        equal(conn.execute("SELECT id FROM account ORDER BY id").fetchall(), [(1,), (3,)])
        conn.commit()
        conn.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        conn.read_only = True
        equal(conn.execute("SHOW transaction_isolation").fetchone()[0], "serializable")
        try:
            conn.execute("DELETE FROM account")
            raise AssertionError("a read-only transaction wrote")
        except errors.ReadOnlySqlTransaction:
            conn.rollback()
        conn.read_only = False
        conn.execute("DROP TABLE account")
        conn.commit()
        conn.autocommit = True
        equal(conn.execute("SELECT 1").fetchone(), (1,))
        equal(conn.info.transaction_status.name, "IDLE")


@check
def pipelines():
    with connect(autocommit=True) as conn:
        with conn.pipeline():
            cursors = [conn.execute("SELECT %s::int", [number]) for number in range(50)]
        equal([cur.fetchone()[0] for cur in cursors], list(range(50)))
        try:
            with conn.pipeline():
                conn.execute("SELECT 1")
                conn.execute("SELECT 1 / 0")
                conn.execute("SELECT 2")
            raise AssertionError("no error")
        except errors.DivisionByZero:
            pass
        equal(conn.execute("SELECT 3").fetchone(), (3,))


@check
def server_side_cursors():
    with connect() as conn:
        with conn.cursor(name="numbers") as cur:
            cur.execute("SELECT n FROM generate_series(1, 1000) AS g (n)")
            equal(cur.fetchmany(3), [(1,), (2,), (3,)])
            equal(cur.fetchone(), (4,))
            equal(len(cur.fetchall()), 996)
        with conn.cursor(name="again", scrollable=True) as cur:
            cur.execute("SELECT n FROM generate_series(1, 10) AS g (n)")
            cur.scroll(5)
            equal(cur.fetchone(), (6,))
            cur.scroll(0, mode="absolute")
            equal(cur.fetchone(), (1,))


@check
def streams():
    with connect() as conn, conn.cursor() as cur:
        total = sum(row[0] for row in cur.stream("SELECT generate_series(1, %s)", [1000]))
        equal(total, 500500)


ERRORS = [
    ("SELECT * FROM nowhere", errors.UndefinedTable),
    ("SELECT nothing", errors.UndefinedColumn),
    ("SELECT nofunction(1)", errors.UndefinedFunction),
    ("SELEC 1", errors.SyntaxError),
    ("SELECT 1 / 0", errors.DivisionByZero),
    ("SELECT 'x'::int4", errors.InvalidTextRepresentation),
    ("SELECT 3000000000::int4", errors.NumericValueOutOfRange),
    ("SELECT 'abc'::date", errors.InvalidDatetimeFormat),
    ("SELECT '2024-02-30'::date", errors.DatetimeFieldOverflow),
    ("INSERT INTO parent VALUES (1, 'again')", errors.UniqueViolation),
    ("INSERT INTO parent VALUES (NULL, 'x')", errors.NotNullViolation),
    ("INSERT INTO parent VALUES (7, NULL)", errors.NotNullViolation),
    ("INSERT INTO child VALUES (1, 99, 1)", errors.ForeignKeyViolation),
    ("INSERT INTO child VALUES (1, 1, -1)", errors.CheckViolation),
    ("INSERT INTO parent VALUES (8, repeat('x', 41))", errors.StringDataRightTruncation),
    ("CREATE TABLE parent (a int)", errors.DuplicateTable),
    ("INSERT INTO parent (nothing) VALUES (1)", errors.UndefinedColumn),
    ("SELECT id FROM parent, child", errors.AmbiguousColumn),
    ("SELECT count(*) FROM parent WHERE count(*) > 1", errors.GroupingError),
    ("SELECT (SELECT g FROM generate_series(1, 2) AS g)", errors.CardinalityViolation),
]


@check
def errors_have_their_classes():
    with connect(autocommit=True) as conn:
        for statement, expected in ERRORS:
            try:
                conn.execute(statement)
                raise AssertionError(f"{statement}: no error")
            except psycopg.Error as error:
                if not isinstance(error, expected):
                    raise AssertionError(f"{statement}: {error.sqlstate} {error}") from error
        try:
            conn.execute("INSERT INTO parent VALUES (1, 'again')")
        except errors.UniqueViolation as error:
            diag = error.diag
            equal((diag.severity, diag.table_name, diag.constraint_name), ("ERROR", "parent", "parent_pkey"))
            equal(diag.schema_name, SCHEMA)
            equal(diag.message_detail, "Key (id)=(1) already exists.")
        try:
            conn.execute("SELECT 1 FROM nowhere")
        except errors.UndefinedTable as error:
            equal(error.diag.statement_position, "15")
    with connect() as conn:
        try:
            conn.execute("SELECT 1 / 0")
        except errors.DivisionByZero:
            pass
        try:
            conn.execute("SELECT 1")
            raise AssertionError("a failed transaction went on")
        except errors.InFailedSqlTransaction:
            pass
        conn.rollback()


@check
def a_statement_is_cancelled():
    with connect() as conn:
        conn.execute("SET statement_timeout = '50ms'")
        try:
            conn.execute("SELECT pg_sleep(30)")
            raise AssertionError("no timeout")
        except errors.QueryCanceled:
            conn.rollback()


@check
def tables_and_views_are_listed():
    with connect() as conn:
        found = conn.execute(
            "SELECT table_name, table_type FROM information_schema.tables"
            " WHERE table_schema = %s ORDER BY table_name",
            [SCHEMA],
        ).fetchall()
        expected = [("child", "BASE TABLE"), ("parent", "BASE TABLE"), ("rich", "VIEW")]
        equal(found, expected)
        found = conn.execute(
            "SELECT relname, relkind::text FROM pg_catalog.pg_class c"
            " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND relkind IN ('r', 'v', 'i') ORDER BY relname",
            [SCHEMA],
        ).fetchall()
        kinds = [("child", "r"), ("child_parent", "i"), ("child_pkey", "i"), ("parent", "r")]
        kinds += [("parent_name_key", "i"), ("parent_pkey", "i"), ("rich", "v")]
        equal(found, kinds)
        equal(conn.execute("SELECT to_regclass('parent')::text").fetchone()[0], "parent")


@check
def columns_are_listed():
    with connect() as conn:
        found = conn.execute(
            "SELECT column_name, data_type, is_nullable, character_maximum_length"
            " FROM information_schema.columns WHERE table_schema = %s AND table_name = 'parent'"
            " ORDER BY ordinal_position",
            [SCHEMA],
        ).fetchall()
        equal(found, [("id", "integer", "NO", None), ("name", "character varying", "NO", 40)])
        found = conn.execute(
            "SELECT attname, format_type(atttypid, atttypmod), attnotnull"
            " FROM pg_attribute WHERE attrelid = 'child'::regclass AND attnum > 0"
            " AND NOT attisdropped ORDER BY attnum"
        ).fetchall()
        expected = [("id", "integer", True), ("parent_id", "integer", False)]
        equal(found, expected + [("amount", "integer", False)])


@check
def keys_are_listed():
    with connect() as conn:
        found = conn.execute(
            "SELECT conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE conrelid = 'child'::regclass ORDER BY conname"
        ).fetchall()
        expected = [
            ("child_amount_check", "c", "CHECK ((amount >= 0))"),
            ("child_parent_id_fkey", "f", "FOREIGN KEY (parent_id) REFERENCES parent(id)"),
            ("child_pkey", "p", "PRIMARY KEY (id)"),
        ]
        equal(found, expected)
        found = conn.execute(
            "SELECT k.column_name FROM information_schema.table_constraints t"
            " JOIN information_schema.key_column_usage k USING (constraint_schema, constraint_name)"
            " WHERE t.constraint_type = 'PRIMARY KEY' AND t.table_schema = %s"
            " AND t.table_name = 'parent' ORDER BY k.ordinal_position",
            [SCHEMA],
        ).fetchall()
        equal(found, [("id",)])


@check
def type_information_is_found():
    with connect() as conn:
        info = psycopg.types.TypeInfo.fetch(conn, "jsonb")
        equal((info.name, info.oid, info.array_oid), ("jsonb", 3802, 3807))
        equal(psycopg.types.TypeInfo.fetch(conn, "no_such_type"), None)


@check
def sql_is_composed():
    with connect() as conn:
        query = sql.SQL("SELECT {column} FROM {table} WHERE {column} = {value}").format(
            column=sql.Identifier("name"), table=sql.Identifier("parent"), value=sql.Literal("Ada")
        )
        equal(conn.execute(query).fetchall(), [("Ada",)])
        client = psycopg.ClientCursor(conn)
        client.execute("SELECT %s::int + %s, %s", [1, 2, "it's"])
        equal(client.fetchone(), (3, "it's"))


@check
def two_phase_commit_goes_over_several_connections():
    first = connect()
    first.tpc_begin(first.xid(1, "psycopg_test", "committed"))
    first.execute("INSERT INTO parent VALUES (31, 'prepared')")
    first.tpc_prepare()
    first.close()
    with connect() as second:
        equal(second.execute("SELECT count(*) FROM parent WHERE id = 31").fetchone(), (0,))
        found = [xid for xid in second.tpc_recover() if xid.gtrid == "psycopg_test"]
        equal([(xid.bqual, xid.database) for xid in found], [("committed", second.info.dbname)])
        second.rollback()
        second.tpc_commit(found[0])
        equal(second.execute("SELECT name FROM parent WHERE id = 31").fetchone(), ("prepared",))
        second.execute("DELETE FROM parent WHERE id = 31")
        second.commit()
        second.tpc_begin("a name of its own")
        second.execute("DELETE FROM parent")
        second.tpc_prepare()
        second.tpc_rollback()
        equal(second.execute("SELECT count(*) FROM parent").fetchone(), (2,))
        second.rollback()
        second.tpc_begin("never prepared")
        second.execute("INSERT INTO parent VALUES (32, 'one phase')")
        second.tpc_rollback()
        equal(second.execute("SELECT count(*) FROM parent WHERE id = 32").fetchone(), (0,))


def prepare():
    """Makes the tables that the checks read."""
    with psycopg.connect(URL, autocommit=True) as conn:
        conn.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        conn.execute(f"CREATE SCHEMA {SCHEMA}")
    with connect(autocommit=True) as conn:
        conn.execute("CREATE TABLE parent (id int PRIMARY KEY, name varchar(40) NOT NULL UNIQUE)")
        conn.execute(
            "CREATE TABLE child (id int PRIMARY KEY, parent_id int REFERENCES parent (id),"
            " amount int CHECK (amount >= 0))"
        )
        conn.execute("CREATE INDEX child_parent ON child (parent_id)")
        conn.execute("CREATE VIEW rich AS SELECT parent_id, amount FROM child WHERE amount > 1000")
        conn.execute("INSERT INTO parent VALUES (1, 'Ada'), (2, 'Grace')")


def main():
    """Runs every check and prints the counts."""
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    prepare()
    failed = 0
    for function in CHECKS:
        try:
            function()
        except Exception as error:
            failed += 1
            print(f"FAILED psycopg {function.__name__}: {error}", flush=True)
            if not isinstance(error, (AssertionError, psycopg.Error)):
                traceback.print_exc()
    with psycopg.connect(URL, autocommit=True) as conn:
        conn.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    print(f"psycopg {psycopg.__version__}: {len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
