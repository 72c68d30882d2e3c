"""When the certificates in Secrets for TLS end. Tenants that have such Secrets are indexed anew
from their log, in the background. pp_index_terms has another name, so that a worker of the version
before that still runs does not go on without the ends."""

from typing import Any, ClassVar

from django.db import migrations, models

from apiserver.storage import sql
from apiserver.storage.visibility import django_everywhere

_OLD = """
DROP FUNCTION IF EXISTS pp_index_terms (
    bigint, bigint, bigint, text[], text[], text[], text[], text[]
)
"""
_ANEW = """
UPDATE search_heads h SET indexed = 0 WHERE EXISTS (
    SELECT 1 FROM objects o WHERE o.tenant_id = h.tenant_id AND o.api_group = ''
        AND o.resource = 'secrets' AND o.data ->> 'type' = 'kubernetes.io/tls'
)
"""


def anew(apps: Any, editor: Any) -> None:
    with django_everywhere(editor.connection.alias), editor.connection.cursor() as cursor:
        cursor.execute(_ANEW)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0017_close_tenants")]

    functions: ClassVar = "b8a588d8aefb4d1f"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [
        migrations.RunSQL(_OLD, migrations.RunSQL.noop),
        migrations.AddField("searchentry", "ends", models.DateTimeField(null=True)),
        migrations.AddIndex(
            model_name="searchentry",
            index=models.Index(
                condition=models.Q(("ends__isnull", False)),
                fields=["ends", "tenant_id"],
                name="search_entries_ending",
            ),
        ),
        migrations.RunPython(anew, migrations.RunPython.noop),
        sql.functions(),
    ]
