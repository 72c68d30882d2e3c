"""What Tenant objects say of a tenant beyond its limits, and how far row and object agree."""

from typing import Any, ClassVar

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models

_TEXTS = django.contrib.postgres.fields.ArrayField(models.CharField(max_length=320))


def _texts(help_text: str) -> Any:
    return django.contrib.postgres.fields.ArrayField(
        base_field=models.CharField(max_length=320),
        blank=True,
        db_default=models.Value([], _TEXTS),
        default=list,
        help_text=help_text,
    )


def _add(name: str, field: Any) -> migrations.AddField:
    return migrations.AddField(model_name="tenant", name=name, field=field)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("tenancy", "0003_identity")]

    operations: ClassVar = [
        _add("labels", models.JSONField(blank=True, db_default={}, default=dict)),
        _add("owners", _texts("who is bound to cluster-admin, as Kind:name")),
        _add("bound_owners", _texts("those whose binding is there")),
        _add("templates", _texts("what it is made from")),
        _add("applied_templates", _texts("those of which all is there")),
        _add("expires_at", models.DateTimeField(blank=True, null=True)),
        _add("deletion_protection", models.BooleanField(db_default=False, default=False)),
        _add("object_uid", models.CharField(blank=True, db_default="", default="", max_length=64)),
        _add("declared", models.JSONField(blank=True, null=True)),
        _add("revision", models.BigIntegerField(db_default=1, default=1)),
        _add("synced_revision", models.BigIntegerField(db_default=0, default=0)),
        migrations.AddIndex(
            model_name="tenant",
            index=models.Index(
                condition=models.Q(("synced_revision", models.F("revision")), _negated=True),
                fields=["name"],
                name="tenant_unsynced",
            ),
        ),
        migrations.AddIndex(
            model_name="tenant",
            index=django.contrib.postgres.indexes.GinIndex(fields=["owners"], name="tenant_owners"),
        ),
        migrations.AddIndex(
            model_name="tenant",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", False)),
                fields=["expires_at"],
                name="tenant_expiry",
            ),
        ),
        migrations.CreateModel(
            name="Departed",
            fields=[
                (
                    "object_uid",
                    models.CharField(max_length=64, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=63)),
            ],
        ),
    ]
