"""Django: migrations of its own apps and of `shop`, inspectdb, the ORM, transactions, locks."""

import io
import re
import threading
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import django
from django.conf import settings
from django.core.management import call_command
from support import connection as address
from support import fails, in_order, rows, say, step

parts = address()
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": parts["host"],
            "PORT": parts["port"],
            "USER": parts["user"],
            "PASSWORD": parts["password"] or "",
            "NAME": parts["database"],
            "OPTIONS": {"isolation_level": 2},
        }
    },
    INSTALLED_APPS=[
        "django.contrib.contenttypes",
        "django.contrib.auth",
        "django.contrib.sessions",
        "django.contrib.postgres",
        "shop",
        "depot",
    ],
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    SECRET_KEY="of the test",
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.contrib.postgres.aggregates import ArrayAgg, JSONBAgg, StringAgg  # noqa: E402
from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.paginator import Paginator  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402
from django.db.models import (  # noqa: E402
    Avg,
    Case,
    Count,
    Exists,
    F,
    Max,
    OuterRef,
    Prefetch,
    Q,
    Subquery,
    Sum,
    Value,
    When,
    Window,
)
from django.db.models.functions import (  # noqa: E402
    Coalesce,
    Concat,
    ExtractYear,
    Lower,
    Rank,
    TruncMonth,
    Upper,
)
from depot.models import Booking, Event, Item, Total  # noqa: E402
from shop.models import Author, Book, Genre, Loan  # noqa: E402


def manage(*arguments, **options):
    """Prints what a command of manage.py prints."""
    output = io.StringIO()
    try:
        call_command(*arguments, stdout=output, stderr=output, no_color=True, **options)
    except SystemExit as error:
        say("exit", error.code)
    for line in output.getvalue().splitlines():
        say(line.rstrip())


@step("check, makemigrations, sqlmigrate")
def check():
    manage("check", databases=["default"])
    manage("makemigrations", "--check", "--dry-run")
    manage("sqlmigrate", "shop", "0001")
    manage("sqlmigrate", "shop", "0002")


@step("migrate")
def migrate():
    manage("migrate", verbosity=1)
    manage("migrate", verbosity=1)
    manage("showmigrations", "shop", "auth")


@step("migrate back and forth")
def back():
    manage("migrate", "shop", "0001", verbosity=1)
    manage("migrate", "shop", verbosity=1)
    manage("migrate", "shop", "zero", verbosity=1)
    manage("migrate", "shop", verbosity=1)
    manage("migrate", "depot", "zero", verbosity=1)
    manage("migrate", "depot", verbosity=1)


@step("inspectdb")
def inspect():
    manage("inspectdb", "depot_item", "depot_booking", "depot_event", include_partitions=True)
    manage("inspectdb", "depot_total", include_views=True)
    manage("inspectdb", "shop_author", "shop_book", "shop_genre", "shop_book_genres", "shop_loan")


@step("introspection")
def introspection():
    with connection.cursor() as cursor:
        found = connection.introspection
        in_order(found.get_table_list(cursor))
        for table in ("shop_author", "shop_book", "shop_loan"):
            in_order(found.get_table_description(cursor, table))
            in_order(found.get_constraints(cursor, table).items())
            in_order(found.get_sequences(cursor, table))
            in_order(found.get_relations(cursor, table).items())


@step("objects and relations")
def objects():
    ann = Author.objects.create(
        email="Ann@example.org",
        tags=["a", "b"],
        meta={"langs": ["en", "de"]},
        born=date(1970, 1, 2),
    )
    ann.refresh_from_db()
    say(ann.pk, len(str(ann.uid)), ann.tags, ann.meta, ann.created_at is not None)
    crime, love = (Genre.objects.create(name=name) for name in ("crime", "love"))
    books = [Book(author=ann, title=f"book {n}", price=Decimal(n) * 3 / 2) for n in range(1, 31)]
    say(len(Book.objects.bulk_create(books, batch_size=12)), books[-1].pk)
    books[0].genres.set([crime, love])
    books[1].genres.add(love)
    found = Book.objects.select_related("author").prefetch_related("genres").order_by("pk")[:2]
    rows([book.title, book.author.email, sorted(map(str, book.genres.all()))] for book in found)
    cheap = Prefetch("books", Book.objects.filter(price__lt=4).order_by("pk"), to_attr="cheap")
    say([book.title for book in Author.objects.prefetch_related(cheap).get().cheap])
    say(
        list(Genre.objects.filter(book__author=ann).distinct().order_by("name").values_list("name"))
    )


@step("queries")
def queries():
    say(Author.objects.filter(tags__contains=["a"], tags__len=2, tags__0="a").count())
    say(Author.objects.filter(meta__langs__0="en", meta__has_key="langs").count())
    say(Author.objects.filter(meta__contains={"langs": ["de"]}).values_list("meta__langs__1")[0])
    say(Author.objects.filter(email__iexact="ANN@EXAMPLE.ORG", email__icontains="exam").count())
    say(Author.objects.filter(email__regex=r"^A.n", born__year=1970, born__month__lte=2).count())
    say(Book.objects.filter(Q(price__lt=3) | Q(title__endswith="30"), ~Q(title="book 1")).count())
    say(Book.objects.filter(title__in=["book 1", "book 2"], price__range=(1, 2)).count())
    say(Book.objects.aggregate(Count("id"), Sum("price"), Avg("price"), Max("title")))
    by_size = Case(When(price__lt=10, then=Value("cheap")), default=Value("dear"))
    sizes = Book.objects.values(size=by_size).annotate(n=Count("id"), total=Sum("price"))
    rows(sizes.order_by("size"))
    ranked = Book.objects.annotate(place=Window(Rank(), order_by=F("price").desc()))
    rows(ranked.filter(place__lte=2).order_by("place").values_list("title", "place"))
    newest = Book.objects.filter(author=OuterRef("pk")).order_by("-pk").values("title")[:1]
    text = models.TextField()
    many = Author.objects.annotate(
        newest=Subquery(newest),
        any=Exists(Book.objects.filter(author=OuterRef("pk"))),
        label=Concat(
            Upper("email"),
            Value("/"),
            Coalesce("note", Value("-"), output_field=text),
            output_field=text,
        ),
        year=ExtractYear("born"),
        month=TruncMonth("born"),
    )
    rows(many.values_list("newest", "any", "label", "year", "month"))
    listed = Genre.objects.annotate(
        titles=ArrayAgg("book__title", order_by="book__title"),
        text=StringAgg("book__title", ";", order_by="-book__title"),
        objects_=JSONBAgg("book__price", order_by="book__price"),
    )
    rows(listed.order_by("name").values_list("name", "titles", "text", "objects_"))
    union = Book.objects.filter(pk=1).union(Book.objects.filter(pk__in=[1, 2])).order_by("pk")
    say([book.pk for book in union])
    say(Book.objects.order_by("author", "-price").distinct("author").get().title)
    rows(Book.objects.raw("SELECT id, title FROM shop_book WHERE id = %s", [3]).iterator())
    say([page.object_list[0].pk for page in Paginator(Book.objects.order_by("pk"), 12)])
    say(sum(1 for _ in Book.objects.order_by("pk").iterator(chunk_size=7)))
    say(len(Book.objects.filter(pk=1).explain()) > 0)
    say(
        list(Book.objects.dates("added", "year"))[:0], Book.objects.in_bulk([1, 2]).keys().__len__()
    )


@step("writes")
def writes():
    say(Book.objects.filter(price__lt=4).update(price=F("price") + 1))
    say(Author.objects.update_or_create(email="bob", defaults={"tags": ["x"]})[1])
    say(Author.objects.update_or_create(email="bob", defaults={"tags": ["y"]})[1])
    say(Author.objects.get_or_create(email="bob")[1], Author.objects.get(email="bob").tags)
    new = [Genre(name=name, weight=9) for name in ("crime", "war")]
    ignored = Genre.objects.bulk_create(new, ignore_conflicts=True)
    say([genre.pk for genre in ignored], Genre.objects.count())
    new = [Genre(name=name, weight=7) for name in ("crime", "sea")]
    Genre.objects.bulk_create(
        new, update_conflicts=True, update_fields=["weight"], unique_fields=["name"]
    )
    rows(Genre.objects.order_by("name").values_list("name", "weight"))
    books = list(Book.objects.order_by("pk")[:3])
    for book in books:
        book.title = book.title.upper()
    say(Book.objects.bulk_update(books, ["title"]))
    say(Book.objects.filter(title__startswith="BOOK").delete())
    say(Author.objects.get(email="bob").delete())


@step("constraints")
def constraints():
    ann = Author.objects.get()
    for change in (
        lambda: Author.objects.create(email="ANN@example.org"),
        lambda: Book.objects.create(author=ann, title="book 5"),
        lambda: Book.objects.create(author=ann, title="x", price=-1),
        lambda: Loan.objects.create(book_id=5, until=None, lent=datetime.now(timezone.utc)),
        lambda: Loan.objects.create(book_id=5, until=date(2000, 1, 1), lent=None),
    ):
        with fails(), transaction.atomic():
            change()
    with fails(), transaction.atomic():
        Book.objects.create(author_id=99, title="none")
    with transaction.atomic():
        late = Book.objects.create(author_id=77, title="late")
        late.author = ann
        late.save()
    say(Book.objects.filter(title="late").delete()[0])


@step("transactions, savepoints, locks")
def transactions():
    with transaction.atomic():
        Book.objects.filter(pk=5).update(price=1)
        try:
            with transaction.atomic():
                Book.objects.filter(pk=6).update(price=1)
                raise IntegrityError("undone")
        except IntegrityError:
            pass
        point = transaction.savepoint()
        Book.objects.filter(pk=7).update(price=1)
        transaction.savepoint_rollback(point)
        locked = Book.objects.select_for_update(of=("self",), no_key=True).select_related("author")
        say(locked.get(pk=5).title)
        transaction.on_commit(lambda: say("after the commit"))
        other = []

        def elsewhere():
            with transaction.atomic():
                free = Book.objects.select_for_update(skip_locked=True).filter(pk__in=[5, 8])
                other.extend(free.values_list("pk", flat=True))
            try:
                with transaction.atomic():
                    Book.objects.select_for_update(nowait=True).get(pk=5)
            except Exception as error:
                other.append(type(error).__name__)
            connection.close()

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        say(other)
    rows(Book.objects.filter(pk__in=[5, 6, 7]).order_by("pk").values_list("pk", "price"))
    with fails(), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT nosuch")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'still here', %s", [timedelta(days=1)])
        rows(cursor.fetchall())


@step("users, permissions, sessions")
def users():
    user = User.objects.create_user("ann", "ann@example.org", "secret")
    group = Group.objects.create(name="writers")
    group.permissions.set(Permission.objects.filter(content_type__app_label="shop"))
    user.groups.add(group)
    user = User.objects.get(username="ann")
    say(user.check_password("secret"), user.has_perm("shop.change_book"))
    say(sorted(user.get_all_permissions())[:3])
    session = SessionStore()
    session["cart"] = [1, 2]
    session.save()
    say(SessionStore(session.session_key)["cart"])
    manage("clearsessions")


@step("dumpdata, flush, loaddata")
def dump():
    output = io.StringIO()
    call_command("dumpdata", "shop", indent=1, stdout=output)
    text = re.sub(r'"(uid|created_at|added)": "[^"]*"', r'"\1": "…"', output.getvalue())
    say(len(text.splitlines()), text[:300])
    call_command("flush", interactive=False, verbosity=0)
    say(Book.objects.count(), Permission.objects.count())
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(output.getvalue())
        file.flush()
        manage("loaddata", file.name)
    say(Book.objects.count())
    manage("sqlsequencereset", "shop")
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(
            django.core.management.color.no_style(), [Book, Genre]
        ):
            cursor.execute(statement)
    say(Book.objects.create(author=Author.objects.get(), title="next").pk)


@step("a trigger, a domain and text search")
def search():
    for name in ("red bicycles", "a blue car", "a red bicycle for two"):
        Item.objects.create(name=name, price=len(name))
    rows(Item.objects.order_by("pk").values_list("name", "price", "words"))
    query = SearchQuery("bicycle red", config="english")
    found = Item.objects.filter(words=query).annotate(rank=SearchRank("words", query))
    rows(found.order_by("-rank", "pk").values_list("name"))
    by_name = Item.objects.annotate(vector=SearchVector("name", config="english"))
    say(by_name.filter(vector=SearchQuery("cars", config="english")).count())
    say(Item.objects.filter(name__search="blue").count())
    with fails(), transaction.atomic():
        Item.objects.filter(name="a blue car").update(price=-1)
    with fails(), transaction.atomic():
        Item.objects.create(name="")


@step("ranges")
def ranges():
    item = Item.objects.order_by("pk").first()
    january = Booking.objects.create(item=item, during=(date(2026, 1, 1), date(2026, 2, 1)))
    with fails(), transaction.atomic():
        Booking.objects.create(item=item, during=(date(2026, 1, 31), None))
    Booking.objects.create(item=item, during=(date(2026, 1, 5), date(2026, 1, 6)), cancelled=True)
    Booking.objects.create(item=item, during=(date(2026, 2, 1), None))
    january.refresh_from_db()
    say(january.during.lower, january.during.upper, january.during.lower_inc)
    found = Booking.objects.order_by("pk").values_list("pk")
    for filters in (
        {"during__contains": date(2026, 1, 5)},
        {"during__overlap": (date(2026, 1, 31), date(2026, 3, 1))},
        {"during__contained_by": (date(2026, 1, 1), date(2026, 1, 10))},
        {"during__startswith__lt": date(2026, 1, 2)},
        {"during__upper_inf": True},
        {"during__adjacent_to": january.during},
    ):
        say(list(found.filter(**filters)))


@step("a view and partitions")
def views():
    rows(Total.objects.order_by("item_id").values_list("name", "bookings", "item__price"))
    days = (date(2025, 5, 5), date(2026, 6, 6), date(2026, 7, 7))
    Event.objects.bulk_create(Event(day=day, number=n, text="e") for n, day in enumerate(days))
    say(Event.objects.get(pk=(days[1], 1)).text, Event.objects.filter(day__year=2026).count())
    Event.objects.filter(number=0).update(day=date(2026, 5, 5))
    with connection.cursor() as cursor:
        cursor.execute("SELECT tableoid::regclass::text, count(*) FROM depot_event GROUP BY 1")
        rows(cursor.fetchall())


@step("row-level security")
def policies():
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE tools_reader")
        cursor.execute("GRANT SELECT, INSERT ON depot_booking TO tools_reader")
        cursor.execute("GRANT USAGE ON SEQUENCE depot_booking_id_seq TO tools_reader")
        item = Item.objects.order_by("pk").first()
        with fails(), transaction.atomic():
            cursor.execute("SET LOCAL ROLE tools_reader")
            say(Booking.objects.count())
            during = (date(2020, 1, 1), date(2020, 1, 2))
            Booking.objects.create(item=item, during=during, cancelled=True)
        say(Booking.objects.count())
        cursor.execute("DROP OWNED BY tools_reader")
        cursor.execute("DROP ROLE tools_reader")


@step("changes of the schema by the editor")
def editor():
    class Shelf(models.Model):
        place = models.CharField(max_length=10)

        class Meta:
            app_label = "shop"

    with connection.schema_editor() as schema:
        schema.create_model(Shelf)
        number = models.IntegerField(default=5, db_index=True)
        number.contribute_to_class(Shelf, "number")
        schema.add_field(Shelf, number)
        bigger = models.BigIntegerField(null=True, unique=True)
        bigger.contribute_to_class(Shelf, "number")
        schema.alter_field(Shelf, number, bigger)
        schema.alter_db_table(Shelf, "shop_shelf", "shop_rack")
        Shelf._meta.db_table = "shop_rack"
        schema.add_constraint(
            Shelf, models.UniqueConstraint(Lower("place").desc(), "number", name="rack_place")
        )
        schema.add_index(
            Shelf, models.Index(fields=["place"], name="rack_like", opclasses=["text_pattern_ops"])
        )
        schema.alter_db_table_comment(Shelf, "", "where books stand")
    with connection.cursor() as cursor:
        in_order(connection.introspection.get_constraints(cursor, "shop_rack").items())
    with connection.schema_editor() as schema:
        schema.remove_field(Shelf, bigger)
        schema.delete_model(Shelf)


connection.close()
