"""The tables of storage; apiserver/storage/models.py says what they hold.

Columns stand in the order in which they came to be, so that a database of an earlier version, which
has applied what this migration replaces, has the same tables to the last detail.
"""

from typing import ClassVar

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models

import apiserver.storage.models
from apiserver.storage import sql


class Migration(migrations.Migration):
    initial = True

    replaces: ClassVar = [
        ("storage", "0001_tables"),
        ("storage", "0002_commit"),
        ("storage", "0003_claims"),
        ("storage", "0004_needs"),
        ("storage", "0005_wall"),
        ("storage", "0006_budgets"),
        ("storage", "0007_uid_first"),
    ]

    dependencies: ClassVar = []

    operations: ClassVar = [
        migrations.CreateModel(
            name="Lease",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("holder", models.TextField()),
                ("expires_at", models.DateTimeField()),
            ],
            options={"db_table": "leases"},
        ),
        migrations.CreateModel(
            name="TenantHead",
            fields=[
                ("tenant_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("head", models.BigIntegerField()),
                ("floor", models.BigIntegerField()),
                ("compacted", models.BigIntegerField()),
                ("object_count", models.BigIntegerField(default=0)),
                ("bytes", models.BigIntegerField(default=0)),
                ("max_objects", models.BigIntegerField(blank=True, null=True)),
                ("max_bytes", models.BigIntegerField(blank=True, null=True)),
                ("retention", models.DurationField(blank=True, null=True)),
                ("log_bytes", models.BigIntegerField(db_default=0, default=0)),
                ("hour", models.BigIntegerField(db_default=0, default=0)),
                ("hour_bytes", models.BigIntegerField(db_default=0, default=0)),
                ("max_log_bytes", models.BigIntegerField(blank=True, null=True)),
                ("max_hour_bytes", models.BigIntegerField(blank=True, null=True)),
                ("max_definitions", models.BigIntegerField(blank=True, null=True)),
            ],
            options={"db_table": "tenant_heads"},
        ),
        migrations.CreateModel(
            name="EventRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant_id",
                        "resource_version",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tenant_id", models.BigIntegerField()),
                ("resource_version", models.BigIntegerField()),
                ("previous", models.BigIntegerField()),
                ("api_group", models.TextField(db_collation="C")),
                ("resource", models.TextField(db_collation="C")),
                ("namespace", models.TextField(db_collation="C")),
                ("name", models.TextField(db_collation="C")),
                ("uid", models.UUIDField()),
                (
                    "type",
                    models.CharField(
                        choices=[("A", "ADDED"), ("M", "MODIFIED"), ("D", "DELETED")], max_length=1
                    ),
                ),
                ("data", apiserver.storage.models.JsonTextField()),
                ("key_previous", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("size", models.IntegerField(db_default=0, default=0)),
            ],
            options={
                "db_table": "events",
                "ordering": ["tenant_id", "resource_version"],
                "indexes": [
                    models.Index(
                        models.F("tenant_id"),
                        models.F("api_group"),
                        models.F("resource"),
                        models.F("namespace"),
                        models.F("name"),
                        models.OrderBy(models.F("resource_version"), descending=True),
                        name="events_by_key",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ObjectRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant_id",
                        "api_group",
                        "resource",
                        "namespace",
                        "name",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tenant_id", models.BigIntegerField()),
                ("api_group", models.TextField(db_collation="C")),
                ("resource", models.TextField(db_collation="C")),
                ("namespace", models.TextField(db_collation="C")),
                ("name", models.TextField(db_collation="C")),
                ("uid", models.UUIDField()),
                ("resource_version", models.BigIntegerField()),
                ("data", models.JSONField()),
                (
                    "owner_uids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), default=list, size=None
                    ),
                ),
                (
                    "finalizers",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), default=list, size=None
                    ),
                ),
                ("deleting", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("size", models.IntegerField()),
                (
                    "claims",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        db_default=models.Value(
                            [], django.contrib.postgres.fields.ArrayField(models.TextField())
                        ),
                        default=list,
                        size=None,
                    ),
                ),
            ],
            options={
                "db_table": "objects",
                "ordering": ["tenant_id", "api_group", "resource", "namespace", "name"],
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("owner_uids", []), _negated=True),
                        fields=["owner_uids"],
                        name="objects_owner_uids",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("claims", []), _negated=True),
                        fields=["claims"],
                        name="objects_claims",
                    ),
                    models.Index(fields=["uid", "tenant_id"], name="objects_by_uid"),
                ],
            },
        ),
        migrations.RunSQL(sql.read("tables"), "DROP SEQUENCE pp_rv_base;"),
        *(sql.wall(table) for table in ("objects", "events", "tenant_heads")),
    ]
