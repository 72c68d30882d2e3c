"""The objects that have finalizers, in the order of keys: operators look for the few of them among
all (the table of objects at /admin/)."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0013_search_pairs")]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name="objectrow",
            index=models.Index(
                fields=["tenant_id", "api_group", "resource", "namespace", "name"],
                name="objects_with_finalizers",
                condition=models.Q(("finalizers", []), _negated=True),
            ),
        ),
    ]
