"""Groups of console accounts that are platform roles (apiserver/platformroles.py)."""

from typing import Any, ClassVar

from django.db import migrations

ROLES = ("polyplane:tenant-admins", "polyplane:viewers", "polyplane:metrics-readers")


def create(apps: Any, editor: Any) -> None:
    groups = apps.get_model("auth", "Group").objects.using(editor.connection.alias)
    for name in ROLES:
        groups.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("console", "0001_schema"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations: ClassVar = [migrations.RunPython(create, migrations.RunPython.noop)]
