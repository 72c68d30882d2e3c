"""A tenant's limits are asked about one write without storing it (pp_rehearse), by the rule that
pp_commit has (pp_exceeded)."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0019_names")]

    functions: ClassVar = "ac624236037b1fb4"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [sql.functions()]
