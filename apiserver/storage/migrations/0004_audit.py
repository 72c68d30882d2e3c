"""The audit log: its table (sql/audit_tables.sql), and the functions that write it."""

from typing import ClassVar

from django.db import migrations, models

import apiserver.storage.models
from apiserver.storage import sql

_DROP_OLD = """
DROP FUNCTION IF EXISTS pp_commit(
    bigint, text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[],
    boolean[], text[], text[]
);
"""
"""Another list of parameters is another function for PostgreSQL."""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0003_event_ttl")]

    functions: ClassVar = "0792f1be257a8fa7"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [
        migrations.RunSQL(sql.read("audit_tables"), "DROP TABLE audit_entries;"),
        sql.wall("audit_entries"),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant_id", models.BigIntegerField(null=True, verbose_name="tenant")),
                ("at", models.DateTimeField()),
                ("resource_version", models.BigIntegerField(verbose_name="version")),
                ("user_name", models.TextField(verbose_name="user")),
                ("verb", models.TextField()),
                ("code", models.IntegerField()),
                ("api_group", models.TextField(verbose_name="group")),
                ("resource", models.TextField()),
                ("namespace", models.TextField()),
                ("name", models.TextField()),
                ("data", apiserver.storage.models.JsonTextField()),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit entries",
                "db_table": "audit_entries",
                "ordering": ["-at", "-resource_version"],
                "managed": False,
            },
        ),
        migrations.RunSQL(_DROP_OLD, migrations.RunSQL.noop),
        sql.functions(),
        migrations.RunSQL("SELECT count(*) FROM pp_keep_audit(0, 7)", migrations.RunSQL.noop),
    ]
