"""The tables, and by SQL what Django has no operations for."""

import django.contrib.postgres.constraints
import django.contrib.postgres.fields.ranges
import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.contrib.postgres.fields import RangeOperators
from django.db import migrations, models
from django.db.models import Q

FORWARD = """
CREATE DOMAIN depot_price AS numeric(10, 2) CHECK (VALUE >= 0);
ALTER TABLE depot_item ALTER COLUMN price TYPE depot_price;
CREATE FUNCTION depot_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.words := to_tsvector('english', NEW.name);
  RETURN NEW;
END
$$;
CREATE TRIGGER depot_words BEFORE INSERT OR UPDATE OF name ON depot_item
  FOR EACH ROW EXECUTE FUNCTION depot_words();
CREATE VIEW depot_total AS
  SELECT i.id AS item_id, i.name, count(b.id)::int AS bookings
  FROM depot_item i LEFT JOIN depot_booking b ON b.item_id = i.id GROUP BY i.id, i.name;
CREATE TABLE depot_event (day date, number int, text text NOT NULL, PRIMARY KEY (day, number))
  PARTITION BY RANGE (day);
CREATE TABLE depot_event_2026 PARTITION OF depot_event
  FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE depot_event_rest PARTITION OF depot_event DEFAULT;
ALTER TABLE depot_booking ENABLE ROW LEVEL SECURITY;
CREATE POLICY depot_open ON depot_booking USING (NOT cancelled);
"""

BACK = """
DROP POLICY depot_open ON depot_booking;
DROP TABLE depot_event;
DROP VIEW depot_total;
DROP TRIGGER depot_words ON depot_item;
DROP FUNCTION depot_words;
ALTER TABLE depot_item ALTER COLUMN price TYPE numeric(10, 2);
DROP DOMAIN depot_price;
"""


def key():
    """The column that Django adds to each table."""
    options = {"auto_created": True, "primary_key": True, "serialize": False}
    return models.BigAutoField(verbose_name="ID", **options)


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.CreateModel(
            name="Item",
            fields=[
                ("id", key()),
                ("name", models.CharField(max_length=100)),
                ("price", models.DecimalField(decimal_places=2, default=0, max_digits=10)),
                (
                    "words",
                    django.contrib.postgres.search.SearchVectorField(editable=False, null=True),
                ),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=~Q(name=""), name="item_named")],
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(fields=["words"], name="item_words")
                ],
            },
        ),
        migrations.CreateModel(
            name="Booking",
            fields=[
                ("id", key()),
                ("during", django.contrib.postgres.fields.ranges.DateRangeField()),
                ("cancelled", models.BooleanField(default=False)),
                ("item", models.ForeignKey("depot.item", models.CASCADE)),
            ],
            options={
                "constraints": [
                    django.contrib.postgres.constraints.ExclusionConstraint(
                        name="booking_once",
                        expressions=[("during", RangeOperators.OVERLAPS)],
                        condition=Q(cancelled=False),
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Total",
            fields=[
                (
                    "item",
                    models.OneToOneField(
                        "depot.item", models.DO_NOTHING, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.TextField()),
                ("bookings", models.IntegerField()),
            ],
            options={"db_table": "depot_total", "managed": False},
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "day", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("day", models.DateField()),
                ("number", models.IntegerField()),
                ("text", models.TextField()),
            ],
            options={"db_table": "depot_event", "managed": False},
        ),
        migrations.RunSQL(FORWARD, BACK),
    ]
