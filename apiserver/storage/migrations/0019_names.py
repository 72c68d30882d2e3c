"""Objects by a part of their names (pp_names), and searches that gather in memory (pp_search)."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0018_certificate_ends")]

    functions: ClassVar = "16f583c02bae3d15"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [sql.functions()]
