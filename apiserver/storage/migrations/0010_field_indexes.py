"""Indexes of the fields that tenants declare: their tables, and the functions that fill and ask
them. They are empty at first: workers go through the log (apiserver/search/fieldindexer.py)."""

from typing import ClassVar

from django.db import migrations, models

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0009_search_walk")]

    functions: ClassVar = "77fbb061aac1f125"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [
        migrations.CreateModel(
            name="FieldIndex",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tenant_id", models.BigIntegerField()),
                ("api_group", models.TextField(db_collation="C")),
                ("resource", models.TextField(db_collation="C")),
                ("path", models.TextField(db_collation="C")),
                ("declared", models.BigIntegerField()),
                ("indexed", models.BigIntegerField()),
            ],
            options={
                "db_table": "field_indexes",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant_id", "api_group", "resource", "path"),
                        name="field_indexes_path",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FieldEntry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant_id",
                        "index_id",
                        "place",
                        "name",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tenant_id", models.BigIntegerField()),
                ("index_id", models.BigIntegerField()),
                ("place", models.TextField(db_collation="C")),
                ("name", models.TextField(db_collation="C")),
                ("value", models.TextField(db_collation="C")),
            ],
            options={
                "db_table": "field_entries",
                "ordering": ["tenant_id", "index_id", "place", "name"],
                "indexes": [
                    models.Index(
                        fields=["tenant_id", "index_id", "value", "place", "name"],
                        name="field_entries_value",
                    )
                ],
            },
        ),
        sql.wall("field_indexes"),
        sql.wall("field_entries"),
        sql.functions(),
    ]
