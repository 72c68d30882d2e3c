"""The objects that are being deleted, which are few: for the sweep that goes on with them, and for
the console, which shows those that wait for long."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0006_needs_of_updates")]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name="objectrow",
            index=models.Index(
                fields=["tenant_id", "uid"],
                name="objects_being_deleted",
                condition=models.Q(deleting=True),
            ),
        ),
    ]
