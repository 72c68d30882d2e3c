"""An update may need another object, too: the range of the address that a Service gets."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0005_audit_days")]

    functions: ClassVar = "41d1529614fbea20"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [sql.functions()]
