"""Changed and renamed columns, data, constraints, indexes, and the other tables."""

from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Lower


def add_genre(apps, _):
    apps.get_model("shop", "Genre").objects.create(name="old", weight=None)


def fill_weights(apps, _):
    genres = apps.get_model("shop", "Genre").objects
    genres.filter(weight=None).update(weight=0)
    genres.filter(name="old").delete()


def key():
    """The column that Django adds to each table."""
    options = {"auto_created": True, "primary_key": True, "serialize": False}
    return models.BigAutoField(verbose_name="ID", **options)


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_first")]

    operations = [
        migrations.RunPython(add_genre, migrations.RunPython.noop),
        migrations.RunPython(fill_weights, migrations.RunPython.noop),
        migrations.AlterField("genre", "weight", models.PositiveSmallIntegerField(default=0)),
        migrations.AlterField(
            "author", "email", models.CharField(max_length=200, db_comment="the address")
        ),
        migrations.AlterField("author", "born", models.DateField(null=True)),
        migrations.RenameField("author", "remark", "note"),
        migrations.AlterModelTableComment("author", "who writes"),
        migrations.AddConstraint(
            "author", models.UniqueConstraint(Lower("email"), name="author_email")
        ),
        migrations.AddIndex(
            "author", models.Index(F("born").desc(nulls_last=True), F("id"), name="author_born")
        ),
        migrations.CreateModel(
            name="Book",
            fields=[
                ("id", key()),
                ("title", models.CharField(max_length=100)),
                ("price", models.DecimalField(decimal_places=2, max_digits=10, null=True)),
                ("added", models.DateTimeField(auto_now_add=True)),
                (
                    "author",
                    models.ForeignKey("shop.author", models.CASCADE, related_name="books"),
                ),
                ("genres", models.ManyToManyField("shop.genre")),
            ],
        ),
        migrations.AddField(
            "book",
            "gross",
            models.GeneratedField(
                expression=F("price") * 2,
                output_field=models.DecimalField(max_digits=12, decimal_places=2),
                db_persist=True,
            ),
        ),
        migrations.CreateModel(
            name="Loan",
            fields=[
                ("id", key()),
                ("lent", models.DateTimeField()),
                ("until", models.DateField()),
                ("reminder", models.DurationField(null=True)),
                ("at", models.TimeField(null=True)),
                ("weight", models.FloatField(null=True)),
                ("scan", models.BinaryField(null=True)),
                ("origin", models.GenericIPAddressField(null=True)),
                ("back", models.BooleanField(default=False)),
                ("book", models.OneToOneField("shop.book", models.PROTECT)),
            ],
        ),
        migrations.AddIndex(
            "book", models.Index(fields=["price"], name="book_cheap", condition=Q(price__lt=10))
        ),
        migrations.AddConstraint(
            "book", models.UniqueConstraint(fields=("author", "title"), name="book_title")
        ),
        migrations.AddConstraint(
            "book", models.CheckConstraint(condition=Q(price__gte=0), name="book_price")
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "CREATE VIEW shop_cheap AS SELECT id, title FROM shop_book WHERE price < 10",
                    "DROP VIEW shop_cheap",
                )
            ]
        ),
    ]
