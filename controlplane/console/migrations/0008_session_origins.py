"""Sessions that say where and when they were opened, and when they were last used. Of those that
are open it is not known."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("console", "0007_saved_views")]

    operations: ClassVar = [
        migrations.AddField(
            "accountsession", "address", models.TextField(db_default="", default="")
        ),
        migrations.AddField("accountsession", "agent", models.TextField(db_default="", default="")),
        migrations.AddField("accountsession", "opened_at", models.DateTimeField(null=True)),
        migrations.AddField("accountsession", "used_at", models.DateTimeField(null=True)),
    ]
