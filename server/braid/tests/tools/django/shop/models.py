"""The tables of the program: every kind of column, relation, constraint and index."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now


class Author(models.Model):
    """A uuid, an array, json, and an address that is unique without case."""

    uid = models.UUIDField(default=uuid.uuid4, editable=False)
    email = models.CharField(max_length=200, db_comment="the address")
    tags = ArrayField(models.CharField(max_length=20), default=list)
    meta = models.JSONField(default=dict)
    born = models.DateField(null=True)
    note = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table_comment = "who writes"
        constraints = [models.UniqueConstraint(Lower("email"), name="author_email")]
        indexes = [models.Index(F("born").desc(nulls_last=True), "id", name="author_born")]


class Genre(models.Model):
    """A slug, a small integer."""

    name = models.SlugField(unique=True)
    weight = models.PositiveSmallIntegerField(default=0)

    def __str__(self):
        return self.name


class Book(models.Model):
    """A foreign key, a generated column, a check, a partial index."""

    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    title = models.CharField(max_length=100)
    price = models.DecimalField(max_digits=10, decimal_places=2, null=True)
    gross = models.GeneratedField(
        expression=F("price") * 2,
        output_field=models.DecimalField(max_digits=12, decimal_places=2),
        db_persist=True,
    )
    added = models.DateTimeField(auto_now_add=True)
    genres = models.ManyToManyField(Genre)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["author", "title"], name="book_title"),
            models.CheckConstraint(condition=Q(price__gte=0), name="book_price"),
        ]
        indexes = [models.Index(fields=["price"], name="book_cheap", condition=Q(price__lt=10))]

    def __str__(self):
        return self.title


class Loan(models.Model):
    """One to one, and columns of the other kinds."""

    book = models.OneToOneField(Book, models.PROTECT)
    lent = models.DateTimeField()
    until = models.DateField()
    reminder = models.DurationField(null=True)
    at = models.TimeField(null=True)
    weight = models.FloatField(null=True)
    scan = models.BinaryField(null=True)
    origin = models.GenericIPAddressField(null=True)
    back = models.BooleanField(default=False)
