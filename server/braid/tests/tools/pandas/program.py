"""pandas: frames written by to_sql in each of its ways, by COPY, and read back with their types."""

import csv
import io
import warnings
from datetime import date

import pandas as pd
from sqlalchemy import ARRAY, Integer, Numeric, String, create_engine, inspect, text
from sqlalchemy.dialects.postgresql import JSONB, UUID, insert
from support import URL, fails, say, step

warnings.filterwarnings("ignore")
engine = create_engine(URL.replace("postgresql://", "postgresql+psycopg://"))

frame = pd.DataFrame(
    {
        "number": range(1, 21),
        "name": [f"name {n}" if n % 5 else None for n in range(1, 21)],
        "price": [n * 1.5 if n % 4 else float("nan") for n in range(1, 21)],
        "good": [n % 2 == 0 for n in range(1, 21)],
        "at": pd.date_range("2024-01-01", periods=20, freq="36h", tz="UTC"),
        "day": [date(2024, 1, n) for n in range(1, 21)],
        "lasts": pd.to_timedelta(range(20), unit="h"),
        "kind": pd.Categorical(["a", "b"] * 10),
    }
)


def show(found, columns=False):
    if columns:
        say({name: str(kind) for name, kind in found.dtypes.items()})
    say(found.to_csv(index=False).strip())


@step("to_sql by executemany, by one statement, by chunks")
def write():
    say(frame.to_sql("plain", engine, index=False))
    say(frame.to_sql("multi", engine, index=False, method="multi"))
    say(frame.to_sql("chunks", engine, index_label="row_number", chunksize=7))
    for table in ("plain", "multi", "chunks"):
        columns = inspect(engine).get_columns(table)
        say(table, [[column["name"], str(column["type"])] for column in columns])
    say(inspect(engine).get_indexes("chunks"))


@step("read_sql")
def read():
    show(pd.read_sql_table("plain", engine).head(4), columns=True)
    show(pd.read_sql_query("SELECT * FROM multi ORDER BY number LIMIT 4", engine), columns=True)
    query = text("SELECT number, at FROM plain WHERE number > :low ORDER BY number")
    parts = pd.read_sql(query, engine, params={"low": 10}, chunksize=4, index_col="number")
    say([len(part) for part in parts])
    show(pd.read_sql("SELECT * FROM plain WHERE number < 0", engine), columns=True)
    with engine.connect().execution_options(stream_results=True) as conn:
        parts = pd.read_sql("SELECT * FROM chunks ORDER BY number", conn, chunksize=6)
        say([int(part["number"].sum()) for part in parts])
    types = pd.read_sql("SELECT * FROM plain", engine, dtype_backend="numpy_nullable")
    say({name: str(kind) for name, kind in types.dtypes.items()})


@step("chosen types")
def types():
    own = pd.DataFrame(
        {
            "id": ["00000000-0000-0000-0000-000000000001"],
            "doc": [{"a": [1, None]}],
            "tags": [["x", "y"]],
            "amount": [1.25],
            "code": ["abc"],
        }
    )
    kinds = {
        "id": UUID,
        "doc": JSONB,
        "tags": ARRAY(String),
        "amount": Numeric(10, 3),
        "code": String(5),
    }
    own.to_sql("typed", engine, index=False, dtype=kinds)
    columns = inspect(engine).get_columns("typed")
    say([[column["name"], str(column["type"])] for column in columns])
    show(pd.read_sql("SELECT * FROM typed", engine), columns=True)


@step("append, replace, fail, schema")
def again():
    extra = frame.head(2)
    extra.to_sql("plain", engine, index=False, if_exists="append")
    say(int(pd.read_sql("SELECT count(*) AS n FROM plain", engine)["n"][0]))
    extra.to_sql("multi", engine, index=False, if_exists="replace")
    say(len(pd.read_sql_table("multi", engine)))
    extra.to_sql("multi", engine, index=False, if_exists="delete_rows")
    say(len(pd.read_sql_table("multi", engine)))
    with fails():
        extra.to_sql("plain", engine, index=False)
    with engine.begin() as conn:
        conn.execute(text("CREATE SCHEMA lake"))
    extra.to_sql("plain", engine, schema="lake", index=False)
    say(len(pd.read_sql_table("plain", engine, schema="lake")))


def by_copy(table, conn, keys, records):
    """Writes by COPY, as the manual of pandas shows."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows(records)
    buffer.seek(0)
    columns = ", ".join(f'"{key}"' for key in keys)
    with conn.connection.cursor() as cursor:
        with cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN WITH CSV") as copy:
            copy.write(buffer.read())


def by_upsert(table, conn, keys, records):
    """Inserts or updates by the table's key."""
    statement = insert(table.table).values([dict(zip(keys, record)) for record in records])
    changed = {key: statement.excluded[key] for key in keys}
    statement = statement.on_conflict_do_update(index_elements=["number"], set_=changed)
    return conn.execute(statement).rowcount


@step("COPY and upsert as methods of to_sql")
def methods():
    frame.to_sql("copied", engine, index=False, method=by_copy)
    show(pd.read_sql("SELECT * FROM copied ORDER BY number LIMIT 5", engine), columns=True)
    with engine.begin() as conn:
        conn.execute(text("ALTER TABLE copied ADD PRIMARY KEY (number)"))
    changed = frame.head(3).assign(name="changed")
    say(changed.to_sql("copied", engine, index=False, if_exists="append", method=by_upsert))
    show(pd.read_sql("SELECT number, name FROM copied ORDER BY number LIMIT 4", engine))
    with fails():
        frame.head(1).to_sql("copied", engine, index=False, if_exists="append")


@step("groups by the server and by pandas are alike")
def groups():
    query = """
        SELECT kind, good, count(*) AS n, avg(price) AS mean, min(at) AS first,
               sum(price) FILTER (WHERE number > 10) AS late
        FROM copied GROUP BY ROLLUP (kind, good) ORDER BY kind, good
    """
    found = pd.read_sql(query, engine)
    show(found)
    mean = frame.groupby("kind", observed=True)["price"].mean()
    whole = found[found["good"].isna() & found["kind"].notna()].set_index("kind")["mean"]
    say(bool((mean == whole).all()))
    wide = pd.read_sql("SELECT number, kind, price FROM copied", engine).pivot_table(
        index="kind", values="price", aggfunc="sum"
    )
    say(wide.to_csv().strip())


@step("an error and the next statement")
def errors():
    with engine.connect() as conn:
        with fails():
            pd.read_sql("SELECT nosuch FROM plain", conn)
        conn.rollback()
        with fails(), conn.begin():
            pd.DataFrame({"number": [99], "nosuch": [1]}).to_sql(
                "copied", conn, index=False, if_exists="append"
            )
        say(int(pd.read_sql("SELECT max(number) AS n FROM copied", conn)["n"][0]))
    small = pd.DataFrame({"n": [2**40]})
    with fails():
        small.to_sql("small", engine, index=False, dtype={"n": Integer})
    say(inspect(engine).has_table("small"))


engine.dispose()
