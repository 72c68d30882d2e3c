"""Searches find labels by terms of their own (apiserver/search/terms.py): the index is made anew
from the log, which the indexer reads from its beginning where there is no head. pp_search is told
how many matches GIN may gather. pp_index has another name, so that a worker of the version before
that still runs does not fill the index with the terms that it knows."""

from typing import ClassVar

from django.db import migrations

from apiserver.storage import sql

_OLD = """
DROP FUNCTION IF EXISTS pp_index (
    bigint, bigint, bigint, text[], text[], text[], text[], text[]
);
DROP FUNCTION IF EXISTS pp_search (
    bigint, text, text[], text[], text[], text[], text[], text[], bigint, bigint, text
)
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0012_exact_words")]

    functions: ClassVar = "e1c3028c5fff5ebc"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [
        migrations.RunSQL(_OLD, migrations.RunSQL.noop),
        migrations.RunSQL("TRUNCATE search_entries, search_heads", migrations.RunSQL.noop),
        sql.functions(),
    ]
