"""Days of the audit log: writers wait for them for a moment only, and the last ones stay."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0004_audit")]

    functions: ClassVar = "d3228f1d07cf3f5f"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [sql.functions()]
