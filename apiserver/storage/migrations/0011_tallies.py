"""How many objects tenants have of each resource: the tables, and the functions that fill and ask
them. They are empty at first: workers count the objects of each tenant once, and then go through
its log (apiserver/search/indexer.py)."""

from typing import ClassVar

from django.db import migrations, models

from apiserver.storage import sql


class Migration(migrations.Migration):
    dependencies: ClassVar = [("storage", "0010_field_indexes")]

    functions: ClassVar = "e4e4ce3ea8d7e574"
    """sql.digest() of what this migration was made for."""

    operations: ClassVar = [
        migrations.CreateModel(
            name="TallyHead",
            fields=[
                ("tenant_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("through", models.BigIntegerField()),
            ],
            options={"db_table": "tally_heads"},
        ),
        migrations.CreateModel(
            name="Tally",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant_id",
                        "namespace",
                        "api_group",
                        "resource",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tenant_id", models.BigIntegerField()),
                ("namespace", models.TextField(db_collation="C")),
                ("api_group", models.TextField(db_collation="C")),
                ("resource", models.TextField(db_collation="C")),
                ("number", models.BigIntegerField()),
            ],
            options={
                "db_table": "tallies",
                "ordering": ["tenant_id", "namespace", "api_group", "resource"],
            },
        ),
        sql.wall("tally_heads"),
        sql.wall("tallies"),
        sql.functions(),
    ]
