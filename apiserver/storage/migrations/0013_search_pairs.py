"""Searches find labels by terms of their own (apiserver/search/terms.py): the index is made anew
from the log, which the indexer reads from its beginning where there is no head. pp_search is told
how many matches GIN may gather."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql

_OLD = """
DROP FUNCTION IF EXISTS pp_search (
    bigint, text, text[], text[], text[], text[], text[], text[], bigint, bigint, text
)
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0012_exact_words")]

    functions: ClassVar = "5879c0d625a1bb04"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [
        migrations.RunSQL(_OLD, migrations.RunSQL.noop),
        migrations.RunSQL("TRUNCATE search_entries, search_heads", migrations.RunSQL.noop),
        sql.functions(),
    ]
