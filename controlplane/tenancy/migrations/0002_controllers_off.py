"""Controllers that a tenant does without, because somebody else runs them."""

from typing import ClassVar

import django.contrib.postgres.fields
from django.db import migrations, models

_NAMES = django.contrib.postgres.fields.ArrayField(models.CharField(max_length=63))


class Migration(migrations.Migration):
    dependencies: ClassVar = [("tenancy", "0001_schema")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="tenant",
            name="controllers_off",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=63),
                blank=True,
                db_default=models.Value([], _NAMES),
                default=list,
                help_text="controllers that are left to somebody else",
            ),
        ),
    ]
