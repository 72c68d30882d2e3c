"""A search tells the exact words from those that an index finds soon."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql

_OLD = """
DROP FUNCTION IF EXISTS pp_search (
    bigint, text, text[], text[], text[], text[], text[], text[], bigint, bigint
)
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0011_tallies")]

    functions: ClassVar = "4e0f4bb483710f1d"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [
        migrations.RunSQL(_OLD, migrations.RunSQL.noop),
        sql.functions(),
    ]
