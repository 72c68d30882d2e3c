"""Generations of the keys that sign tokens of service accounts, keys that cannot be derived, and
whose tokens a tenant accepts.

Generation 0 is the one that there has always been: derived without a salt. Where tenants are, its
tokens may last for ever.
"""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

from apiserver.storage import sql

_FIRST = """
INSERT INTO tenancy_keygeneration (number, algorithm, salt, created_at, signs_from, lasts)
SELECT 0, 'ES256', '', now(), now(),
    CASE WHEN EXISTS (SELECT FROM tenancy_tenant) THEN 4611686018427387904 ELSE 0 END
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("tenancy", "0002_controllers_off")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="KeyGeneration",
            fields=[
                ("number", models.AutoField(primary_key=True, serialize=False)),
                ("algorithm", models.CharField(max_length=8)),
                ("salt", models.BinaryField(max_length=32)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("signs_from", models.DateTimeField()),
                (
                    "lasts",
                    models.BigIntegerField(
                        help_text="no token of it ends later; seconds since 1970"
                    ),
                ),
                ("retired_at", models.DateTimeField(null=True)),
            ],
            options={"ordering": ["number"]},
        ),
        migrations.RunSQL(_FIRST, "DELETE FROM tenancy_keygeneration"),
        migrations.CreateModel(
            name="AccountKey",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenancy.tenant",
                    ),
                ),
                (
                    "generation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenancy.keygeneration",
                    ),
                ),
                ("sealed", models.BinaryField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "generation"), name="one_key_a_generation"
                    )
                ]
            },
        ),
        sql.wall("tenancy_accountkey"),
        migrations.CreateModel(
            name="Authentication",
            fields=[
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="tenancy.tenant",
                    ),
                ),
                ("document", models.TextField()),
            ],
        ),
        sql.wall("tenancy_authentication"),
    ]
