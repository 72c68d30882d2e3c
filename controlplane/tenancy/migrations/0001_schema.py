"""Tenants and the tokens of their users; controlplane/tenancy/models.py says what they hold.

Tokens belong to tenants, and so stand behind the wall, too (apiserver/storage/visibility.py). Those
without a tenant are everybody's and nobody's: only who sees everywhere sees them.
"""

from typing import ClassVar

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

from apiserver.storage import sql


class Migration(migrations.Migration):
    initial = True

    replaces: ClassVar = [
        ("tenancy", "0001_initial"),
        ("tenancy", "0002_wall"),
        ("tenancy", "0003_budgets"),
    ]

    dependencies: ClassVar = []

    operations: ClassVar = [
        migrations.CreateModel(
            name="Tenant",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "name",
                    models.CharField(
                        db_collation="C",
                        max_length=63,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\Z",
                                "A tenant's name is a DNS label: at most 63 lower-case letters, "
                                "digits and '-', beginning and ending with a letter or digit.",
                            )
                        ],
                    ),
                ),
                ("display_name", models.CharField(blank=True, default="", max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("suspended", "Suspended"),
                            ("deleting", "Deleting"),
                        ],
                        default="active",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "max_objects",
                    models.PositiveBigIntegerField(
                        blank=True, help_text="stored objects", null=True
                    ),
                ),
                (
                    "max_bytes",
                    models.PositiveBigIntegerField(
                        blank=True, help_text="bytes of stored objects", null=True
                    ),
                ),
                (
                    "max_watches",
                    models.PositiveIntegerField(blank=True, help_text="open watches", null=True),
                ),
                (
                    "max_inflight",
                    models.PositiveIntegerField(
                        blank=True, help_text="requests at a time", null=True
                    ),
                ),
                (
                    "retention_seconds",
                    models.PositiveIntegerField(
                        blank=True, help_text="how long superseded events are kept", null=True
                    ),
                ),
                (
                    "max_definitions",
                    models.PositiveBigIntegerField(
                        blank=True, help_text="CustomResourceDefinitions", null=True
                    ),
                ),
                (
                    "max_hour_bytes",
                    models.PositiveBigIntegerField(
                        blank=True, help_text="bytes written within an hour", null=True
                    ),
                ),
                (
                    "max_log_bytes",
                    models.PositiveBigIntegerField(
                        blank=True, help_text="bytes of retained events", null=True
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")),
                        name="tenant_name_dns_label",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["active", "suspended", "deleting"])),
                        name="tenant_state_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("hash", models.BinaryField(max_length=32, unique=True)),
                ("description", models.CharField(blank=True, default="", max_length=200)),
                ("user", models.CharField(max_length=253)),
                ("uid", models.CharField(blank=True, default="", max_length=253)),
                (
                    "groups",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=253),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used", models.DateTimeField(blank=True, help_text="to the hour", null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to="tenancy.tenant",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        sql.wall("tenancy_apitoken"),
    ]
