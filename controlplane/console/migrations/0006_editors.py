"""The group of editors of all tenants (apiserver/platformroles.py)."""

from typing import Any, ClassVar

from django.db import migrations

ROLE = "polyplane:editors"


def create(apps: Any, editor: Any) -> None:
    groups = apps.get_model("auth", "Group").objects.using(editor.connection.alias)
    groups.get_or_create(name=ROLE)


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("console", "0005_account_sessions"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations: ClassVar = [migrations.RunPython(create, migrations.RunPython.noop)]
