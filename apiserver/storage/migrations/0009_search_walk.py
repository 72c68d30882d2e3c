"""The search index is walked where words are frequent, from where a page ends."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0008_search")]

    functions: ClassVar = "818312efd99e9fde"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [sql.functions()]
