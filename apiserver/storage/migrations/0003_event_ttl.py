"""The log's entries about Events, for who ends those that are too old (apiserver/storage/
expiry.py)."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0002_functions")]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name="eventrow",
            index=models.Index(
                fields=["tenant_id", "resource_version"],
                name="events_of_events",
                condition=models.Q(api_group="", resource="events") & ~models.Q(type="D"),
            ),
        ),
    ]
