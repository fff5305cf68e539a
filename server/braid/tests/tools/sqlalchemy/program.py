"""SQLAlchemy 2: core, ORM and reflection on psycopg, and the ORM on asyncpg."""

import enum
import uuid
from datetime import date, datetime, timezone
from decimal import Decimal

from sqlalchemy import (
    CheckConstraint,
    Column,
    Computed,
    Enum,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Numeric,
    Sequence,
    String,
    Table,
    UniqueConstraint,
    Uuid,
    any_,
    bindparam,
    case,
    create_engine,
    delete,
    exists,
    func,
    inspect,
    literal,
    select,
    text,
    tuple_,
    update,
    values,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP, aggregate_order_by, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    aliased,
    joinedload,
    mapped_column,
    relationship,
    selectinload,
)
from sqlalchemy.schema import CreateTable
from support import URL, fails, in_order, rows, say, step

engine = create_engine(URL.replace("postgresql://", "postgresql+psycopg://"))


class Mood(enum.Enum):
    """An enum of the database."""

    sad = 1
    ok = 2
    happy = 3


class Base(DeclarativeBase):
    """The tables of the program."""


class Author(Base):
    """Serial key, uuid, enum, json, array, timestamptz, an index on an expression."""

    __tablename__ = "authors"
    id: Mapped[int] = mapped_column(primary_key=True)
    uid: Mapped[uuid.UUID] = mapped_column(Uuid, default=lambda: uuid.UUID(int=5))
    email: Mapped[str] = mapped_column(String(200), comment="the address")
    feeling: Mapped[Mood] = mapped_column(Enum(Mood, name="mood"), default=Mood.ok)
    meta: Mapped[dict] = mapped_column(JSONB, server_default=text("'{}'"))
    tags: Mapped[list[str]] = mapped_column(ARRAY(String), server_default=text("'{}'"))
    born: Mapped[date | None]
    created_at: Mapped[datetime] = mapped_column(
        TIMESTAMP(timezone=True), server_default=func.now()
    )
    books: Mapped[list["Book"]] = relationship(
        back_populates="author", cascade="all, delete-orphan"
    )
    __table_args__ = (
        Index("authors_email", func.lower(email), unique=True),
        Index("authors_born", "born", "feeling", postgresql_include=["email"]),
        {"comment": "who writes"},
    )


book_genres = Table(
    "book_genres",
    Base.metadata,
    Column("book_id", ForeignKey("books.id", ondelete="CASCADE"), primary_key=True),
    Column("genre_id", ForeignKey("genres.id"), primary_key=True),
)


class Book(Base):
    """Identity key, foreign key, check, computed column, partial index, version counter."""

    __tablename__ = "books"
    id: Mapped[int] = mapped_column(Identity(always=True, start=10), primary_key=True)
    author_id: Mapped[int] = mapped_column(ForeignKey("authors.id", ondelete="CASCADE"))
    title: Mapped[str] = mapped_column(String(100))
    price: Mapped[Decimal | None] = mapped_column(Numeric(10, 2))
    gross: Mapped[Decimal | None] = mapped_column(Numeric, Computed("price * 1.2", persisted=True))
    version: Mapped[int] = mapped_column()
    author: Mapped[Author] = relationship(back_populates="books")
    genres: Mapped[list["Genre"]] = relationship(secondary=book_genres)
    __mapper_args__ = {"version_id_col": version}
    __table_args__ = (
        UniqueConstraint("author_id", "title", name="books_title"),
        CheckConstraint("price >= 0", name="books_price"),
        Index("books_cheap", price.desc(), postgresql_where=text("price < 10")),
    )


class Genre(Base):
    """The other side of many-to-many."""

    __tablename__ = "genres"
    id: Mapped[int] = mapped_column(Integer, Sequence("genre_numbers", start=100), primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)


@step("schema")
def schema():
    say(str(CreateTable(Book.__table__).compile(engine)).strip())
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)
    with engine.begin() as conn:
        conn.execute(text("CREATE SCHEMA other"))
        conn.execute(
            text(
                "CREATE TABLE other.notes (id serial PRIMARY KEY, book_id bigint "
                "REFERENCES books ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED)"
            )
        )
        conn.execute(text("CREATE VIEW cheap AS SELECT id, title FROM books WHERE price < 10"))
        conn.execute(text("CREATE TEMPORARY TABLE scratch (id int)"))
        say(inspect(conn).get_temp_table_names())


@step("names in the catalogs")
def names():
    found = inspect(engine)
    # BraidDB has one more schema: braid_internal.
    schemas = sorted(name for name in found.get_schema_names() if name != "braid_internal")
    say(found.default_schema_name, schemas)
    say(sorted(found.get_table_names()), found.get_table_names(schema="other"))
    say(found.get_view_names(), found.get_sequence_names())
    say(found.has_table("books"), found.has_table("nosuch"), found.has_sequence("genre_numbers"))
    say(found.has_index("books", "books_cheap"), found.has_schema("other"))
    say([[e["name"], e["labels"], e["visible"]] for e in found.get_enums()])


@step("columns in the catalogs")
def columns():
    found = inspect(engine)
    for table in ("authors", "books", "genres", "book_genres", "cheap"):
        for column in found.get_columns(table):
            say(table, {name: repr(value) for name, value in column.items()})
    for column in found.get_columns("notes", schema="other"):
        say("notes", {name: repr(value) for name, value in column.items()})


@step("constraints and indexes in the catalogs")
def constraints():
    found = inspect(engine)
    for table in ("authors", "books", "genres", "book_genres"):
        say(table, found.get_pk_constraint(table))
        in_order(found.get_foreign_keys(table))
        in_order(found.get_unique_constraints(table))
        in_order(found.get_check_constraints(table))
        in_order(found.get_indexes(table))
        say(found.get_table_comment(table), found.get_table_options(table))
    in_order(found.get_foreign_keys("notes", schema="other"))
    say(found.get_view_definition("cheap") is not None)
    say(sorted(name for _, name in found.get_multi_columns()))
    say([[table, len(keys)] for table, keys in found.get_sorted_table_and_fkc_names()])


@step("reflected tables")
def reflected():
    meta = MetaData()
    meta.reflect(engine, views=True)
    for table in meta.sorted_tables:
        say(table.name, [f"{c.name} {c.type}" for c in table.columns])
    notes = Table("notes", meta, schema="other", autoload_with=engine)
    say([str(key.target_fullname) for key in notes.foreign_keys])
    # The reflected definitions make the same tables again.
    copied = MetaData()
    Table("authors", copied, autoload_with=engine)
    Table("books", copied, autoload_with=engine)
    with engine.begin() as conn:
        conn.execute(text("CREATE SCHEMA again"))
        for table in copied.sorted_tables:
            copy = table.to_metadata(MetaData(), schema="again", referred_schema_fn=lambda *_: None)
            copy.constraints = {c for c in copy.constraints if "Foreign" not in type(c).__name__}
            say(len(copy.columns), len(copy.indexes))


@step("objects, relations, unit of work")
def objects():
    with Session(engine) as session:
        ann = Author(email="Ann@example.org", meta={"langs": ["en", "de"]}, tags=["a", "b"])
        ann.born = date(1970, 1, 2)
        ann.created_at = datetime.fromtimestamp(0, timezone.utc)
        crime, love = Genre(name="crime"), Genre(name="love")
        ann.books = [Book(title=f"book {n}", price=Decimal(n) * 3 / 2) for n in range(1, 31)]
        ann.books[0].genres = [crime, love]
        ann.books[1].genres = [love]
        session.add(ann)
        session.commit()
        say(ann.id, ann.uid, ann.feeling, ann.meta, ann.books[0].id, str(ann.books[0].gross))
        say(crime.id, love.id, ann.books[0].version)
    with Session(engine) as session:
        query = select(Author).options(selectinload(Author.books).selectinload(Book.genres))
        ann = session.scalars(query).one()
        say(len(ann.books), sorted(genre.name for genre in ann.books[0].genres))
        query = select(Book).options(joinedload(Book.author)).where(Book.genres.any(name="crime"))
        say([(book.title, book.author.email) for book in session.scalars(query)])
        other = aliased(Book)
        query = (
            select(Book.title, func.count(other.id))
            .join(other, other.price < Book.price)
            .group_by(Book.title)
            .order_by(func.count(other.id).desc(), Book.title)
        )
        rows(tuple(row) for row in session.execute(query.limit(2)))
        ann.books[0].title = "changed"
        ann.books.pop()
        session.commit()
        say(ann.books[0].version, len(ann.books))


@step("a stale version")
def stale():
    committed = engine.execution_options(isolation_level="READ COMMITTED")
    with Session(committed) as one, Session(committed) as two:
        first = one.scalars(select(Book).order_by(Book.id)).first()
        second = two.get(Book, first.id)
        first.price = 7
        one.commit()
        second.price = 8
        with fails():
            two.commit()
        two.rollback()
        say(second.version, str(second.price))


@step("upsert and statements with RETURNING")
def upsert():
    with engine.begin() as conn:
        new = insert(Author).values(email="ANN@example.org", uid=uuid.UUID(int=6), feeling=Mood.sad)
        new = new.on_conflict_do_update(
            index_elements=[func.lower(Author.email)],
            set_={"feeling": new.excluded.feeling, "tags": Author.tags + ["again"]},
        ).returning(Author.id, Author.feeling, Author.tags)
        rows(map(tuple, conn.execute(new)))
        again = insert(Genre).on_conflict_do_nothing(index_elements=["name"])
        many = conn.execute(
            again.returning(Genre.name), [{"name": n} for n in ("love", "war", "sea")]
        )
        rows(map(tuple, many))
        cheap = update(Book).where(Book.price < bindparam("limit_")).values(price=Book.price + 1)
        say(conn.execute(cheap.returning(Book.id), {"limit_": 4}).all().__len__())
        say(conn.execute(delete(Book).where(Book.title.in_(["book 28", "book 29"]))).rowcount)
        sorted_ = insert(Genre).returning(Genre.name, sort_by_parameter_order=True)
        in_order(map(tuple, conn.execute(sorted_, [{"name": f"g{n}"} for n in range(5)])))


@step("expressions")
def expressions():
    with engine.connect() as conn:
        size = case((Book.price < 10, "cheap"), else_="dear")
        query = select(size, func.count(), func.sum(Book.price)).group_by(size).order_by(size)
        rows([a, n, str(total)] for a, n, total in conn.execute(query))
        ranked = select(
            Book.title, func.rank().over(order_by=Book.price.desc()).label("place")
        ).cte("ranked")
        rows(map(tuple, conn.execute(select(ranked).where(ranked.c.place <= 2).order_by("place"))))
        numbers = select(literal(1).label("n")).cte("numbers", recursive=True)
        numbers = numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < 5))
        say(conn.scalar(select(func.sum(numbers.c.n))))
        say(conn.execute(select(Author.meta["langs"][0].astext, Author.tags[1])).first()._asdict())
        say(conn.scalar(select(func.count()).where(Author.meta.contains({"langs": ["de"]}))))
        say(conn.scalar(select(func.count()).where(literal("again") == any_(Author.tags))))
        pairs = tuple_(Book.author_id, Book.title).in_([(1, "book 5"), (1, "book 6")])
        say(conn.scalar(select(func.count()).where(pairs)))
        listed = aggregate_order_by(Book.title, Book.id.desc())
        say(conn.scalar(select(func.array_agg(listed)).where(Book.price > 38)))
        own = values(Column("n", Integer), Column("t", String), name="v").data([(1, "x"), (2, "y")])
        rows(map(tuple, conn.execute(select(own).order_by(own.c.n.desc()))))
        latest = select(Book.title).where(Book.author_id == Author.id).order_by(Book.id).limit(1)
        latest = latest.lateral("latest")
        rows(
            map(tuple, conn.execute(select(Author.id, latest.c.title).join(latest, literal(True))))
        )
        say(conn.scalar(select(exists().where(Book.price > 1000))))
        say(conn.scalar(select(func.extract("year", Author.created_at))) is not None)


@step("pages, streams, locks")
def pages():
    with Session(engine) as session:
        last = 0
        for _ in range(2):
            query = select(Book.id).where(Book.id > last).order_by(Book.id).limit(3)
            found = session.scalars(query).all()
            last = found[-1]
            say(found)
        query = select(Book.id).order_by(Book.id).execution_options(yield_per=5)
        say([len(part) for part in session.scalars(query).partitions()])
        locked = select(Book).where(Book.id == 11).with_for_update(skip_locked=True, of=Book)
        say(len(session.scalars(locked).all()))


@step("transactions, savepoints, errors")
def transactions():
    with engine.connect() as conn:
        with conn.begin():
            conn.execute(update(Book).where(Book.id == 11).values(price=2))
            with fails(), conn.begin_nested():
                conn.execute(insert(Book).values(author_id=99, title="none", version=1))
            with fails(), conn.begin_nested():
                conn.execute(update(Book).where(Book.id == 11).values(price=-2))
        say(str(conn.scalar(select(Book.price).where(Book.id == 11))))
        conn.rollback()
        with fails():
            conn.execute(insert(Book).values(author_id=1, title="book 5", version=1))
        with fails():
            conn.execute(text("SELECT 1"))
            raise ValueError("raised by the program")
        conn.rollback()
        try:
            conn.execute(text("SELECT nosuch"))
        except DBAPIError as error:
            say(type(error).__name__, error.orig.sqlstate)
        conn.rollback()
        say(conn.scalar(text("SELECT 'still here'")))
    serializable = engine.connect().execution_options(isolation_level="SERIALIZABLE")
    with serializable as conn:
        say(conn.get_isolation_level(), conn.default_isolation_level is not None)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        say(conn.scalar(text("SHOW transaction_isolation")) is not None)


@step("asyncpg")
async def asynchronous():
    own = create_async_engine(URL.replace("postgresql://", "postgresql+asyncpg://"))
    make = async_sessionmaker(own, expire_on_commit=False)
    async with make() as session:
        session.add(Author(email="bob@example.org", feeling=Mood.happy, books=[Book(title="one")]))
        await session.commit()
        query = (
            select(Author).options(selectinload(Author.books)).where(Author.feeling == Mood.happy)
        )
        bob = (await session.scalars(query)).one()
        say(bob.email, [book.title for book in bob.books], bob.meta, bob.tags)
        with fails():
            session.add(Author(email="BOB@example.org"))
            await session.flush()
        await session.rollback()
        many = await session.execute(
            insert(Genre).returning(Genre.id), [{"name": "x"}, {"name": "y"}]
        )
        say(len(many.all()))
        await session.commit()
        stream = await session.stream_scalars(select(Book.id).order_by(Book.id))
        say(len([number async for number in stream]))
    async with own.connect() as conn:
        say(sorted(await conn.run_sync(lambda plain: inspect(plain).get_table_names())))
        found = await conn.run_sync(lambda plain: inspect(plain).get_columns("authors"))
        say([[column["name"], repr(column["type"])] for column in found])
        found = await conn.run_sync(lambda plain: inspect(plain).get_indexes("authors"))
        in_order(found)
    await own.dispose()


@step("an index of another method")
def gin():
    with engine.begin() as conn:
        Index("authors_tags", Author.tags, postgresql_using="gin").create(conn)
        in_order(inspect(conn).get_indexes("authors"))
        conn.execute(text("DROP INDEX authors_tags"))


@step("a materialized view")
def materialized():
    with engine.begin() as conn:
        conn.execute(text("CREATE MATERIALIZED VIEW counts AS SELECT count(*) AS n FROM books"))
        say(inspect(conn).get_materialized_view_names())
        say([column["name"] for column in inspect(conn).get_columns("counts")])
        conn.execute(text("DROP MATERIALIZED VIEW counts"))


@step("all dropped")
def dropped():
    with engine.begin() as conn:
        conn.execute(text("DROP VIEW cheap"))
        conn.execute(text("DROP SCHEMA other CASCADE"))
        conn.execute(text("DROP SCHEMA again CASCADE"))
    Base.metadata.drop_all(engine)
    found = inspect(engine)
    say(found.get_table_names(), found.get_enums(), found.get_sequence_names())


engine.dispose()
