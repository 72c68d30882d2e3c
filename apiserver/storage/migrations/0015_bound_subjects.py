"""Whom bindings name, across tenants: the table, the functions and the triggers that keep it. From
here on each write of a binding does; 0016 gathers those that are there."""

from typing import ClassVar

from django.db import migrations, models

from apiserver.storage import sql

_NO_TRIGGERS = """
DROP TRIGGER bound_added ON objects;
DROP TRIGGER bound_changed ON objects;
DROP TRIGGER bound_removed ON objects
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0014_with_finalizers")]

    functions: ClassVar = "26118c39925cf6d6"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [
        migrations.CreateModel(
            name="BoundSubject",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant_id",
                        "uid",
                        "subject",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tenant_id", models.BigIntegerField()),
                ("uid", models.UUIDField()),
                ("subject", models.TextField(db_collation="C")),
            ],
            options={
                "db_table": "bound_subjects",
                "ordering": ["tenant_id", "uid", "subject"],
                "indexes": [
                    models.Index(fields=["subject", "tenant_id"], name="bound_subjects_tenants")
                ],
            },
        ),
        sql.wall("bound_subjects"),
        sql.functions(),
        # last: from here to the commit all writers wait
        migrations.RunSQL(sql.read("bound_triggers"), _NO_TRIGGERS),
    ]
