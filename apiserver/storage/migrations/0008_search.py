"""The search index: its tables, and the functions that fill and ask it. They are empty at first:
workers go through the log of each tenant (apiserver/search/indexer.py)."""

from typing import ClassVar

import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0007_being_deleted")]

    functions: ClassVar = "1394b24263b0d4e8"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [
        migrations.CreateModel(
            name="SearchHead",
            fields=[
                ("tenant_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("indexed", models.BigIntegerField()),
            ],
            options={"db_table": "search_heads"},
        ),
        migrations.CreateModel(
            name="SearchEntry",
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
                ("terms", django.contrib.postgres.search.SearchVectorField()),
            ],
            options={
                "db_table": "search_entries",
                "ordering": ["tenant_id", "api_group", "resource", "namespace", "name"],
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["terms"], name="search_entries_terms"
                    )
                ],
            },
        ),
        sql.wall("search_heads"),
        sql.wall("search_entries"),
        sql.functions(),
    ]
