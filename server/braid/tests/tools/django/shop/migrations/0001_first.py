"""The first tables; the second migration changes some of their columns."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models.functions import Now


def key():
    """The column that Django adds to each table."""
    options = {"auto_created": True, "primary_key": True, "serialize": False}
    return models.BigAutoField(verbose_name="ID", **options)


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.CreateModel(
            name="Genre",
            fields=[
                ("id", key()),
                ("name", models.SlugField(unique=True)),
                ("weight", models.IntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Author",
            fields=[
                ("id", key()),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False)),
                ("email", models.CharField(max_length=100)),
                ("tags", ArrayField(models.CharField(max_length=20), default=list)),
                ("meta", models.JSONField(default=dict)),
                ("born", models.DateTimeField(null=True)),
                ("remark", models.TextField(null=True)),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
        ),
    ]
