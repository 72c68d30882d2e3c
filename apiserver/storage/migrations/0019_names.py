"""Objects by a part of their names (pp_names), first pages of long lists (pp_first), and searches
that gather in memory (pp_search)."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0018_certificate_ends")]

    functions: ClassVar = "d0d30ec28c4e607a"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [sql.functions()]
