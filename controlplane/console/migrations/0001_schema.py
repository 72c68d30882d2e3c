"""The console's own table, and two views of storage's; controlplane/console/models.py says what
they are."""

from typing import ClassVar

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces: ClassVar = [("console", "0001_initial"), ("console", "0002_loginattempt")]

    dependencies: ClassVar = []

    operations: ClassVar = [
        migrations.CreateModel(
            name="StoredEvent",
            fields=[
                ("tenant_id", models.BigIntegerField(verbose_name="tenant")),
                (
                    "resource_version",
                    models.BigIntegerField(
                        primary_key=True, serialize=False, verbose_name="version"
                    ),
                ),
                ("api_group", models.TextField(verbose_name="group")),
                ("resource", models.TextField()),
                ("namespace", models.TextField()),
                ("name", models.TextField()),
                (
                    "type",
                    models.CharField(
                        choices=[("A", "ADDED"), ("M", "MODIFIED"), ("D", "DELETED")], max_length=1
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "event",
                "db_table": "events",
                "ordering": ["-tenant_id", "-resource_version"],
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="StoredObject",
            fields=[
                ("tenant_id", models.BigIntegerField(verbose_name="tenant")),
                ("api_group", models.TextField(verbose_name="group")),
                ("resource", models.TextField()),
                ("namespace", models.TextField()),
                ("name", models.TextField()),
                ("uid", models.UUIDField(primary_key=True, serialize=False)),
                ("resource_version", models.BigIntegerField(verbose_name="version")),
                ("data", models.JSONField()),
                (
                    "finalizers",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("deleting", models.BooleanField()),
                ("created_at", models.DateTimeField(verbose_name="created")),
                ("size", models.IntegerField(verbose_name="bytes")),
            ],
            options={
                "verbose_name": "stored object",
                "db_table": "objects",
                "ordering": ["tenant_id", "api_group", "resource", "namespace", "name"],
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="LoginAttempt",
            fields=[
                ("key", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("failures", models.PositiveIntegerField()),
                ("last", models.DateTimeField(db_index=True)),
                ("until", models.DateTimeField(help_text="no login is looked at before")),
            ],
        ),
    ]
