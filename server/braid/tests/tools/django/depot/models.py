"""Models over ranges, text search, a view, a partitioned table, a domain, triggers, a policy."""

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateRangeField, RangeOperators
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q


class Item(models.Model):
    """A trigger fills `words`; the column `price` becomes one of a domain."""

    name = models.CharField(max_length=100)
    price = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    words = SearchVectorField(null=True, editable=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(name=""), name="item_named")]
        indexes = [GinIndex(fields=["words"], name="item_words")]


class Booking(models.Model):
    """Bookings do not overlap unless they are cancelled; a policy hides these."""

    item = models.ForeignKey(Item, models.CASCADE)
    during = DateRangeField()
    cancelled = models.BooleanField(default=False)

    class Meta:
        constraints = [
            ExclusionConstraint(
                name="booking_once",
                expressions=[("during", RangeOperators.OVERLAPS)],
                condition=Q(cancelled=False),
            )
        ]


class Total(models.Model):
    """A view."""

    item = models.OneToOneField(Item, models.DO_NOTHING, primary_key=True)
    name = models.TextField()
    bookings = models.IntegerField()

    class Meta:
        managed = False
        db_table = "depot_total"


class Event(models.Model):
    """A partitioned table."""

    pk = models.CompositePrimaryKey("day", "number")
    day = models.DateField()
    number = models.IntegerField()
    text = models.TextField()

    class Meta:
        managed = False
        db_table = "depot_event"
