"""A tenant that is deleted is closed to readers before anything of it goes (sql/tenants.sql)."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0016_gather_bound_subjects")]

    functions: ClassVar = "22b154bbf8a72eff"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [sql.functions()]
