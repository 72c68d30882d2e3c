"""Sessions that say whose they are. Those that are open go on."""

from typing import Any, ClassVar

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations, models
from django.utils import timezone


def carry_over(apps: Any, editor: Any) -> None:
    alias = editor.connection.alias
    before = apps.get_model("sessions", "Session").objects.using(alias)
    sessions = apps.get_model("console", "AccountSession").objects.using(alias)
    store = SessionStore()
    for row in before.filter(expire_date__gt=timezone.now()).iterator(chunk_size=500):
        account = store.decode(row.session_data).get(SESSION_KEY)
        if account is not None:
            sessions.create(
                session_key=row.session_key,
                session_data=row.session_data,
                expire_date=row.expire_date,
                account_id=int(account),
            )
    before.all().delete()


class Migration(migrations.Migration):
    dependencies: ClassVar = [("console", "0004_change_log"), ("sessions", "0001_initial")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="AccountSession",
            fields=[
                (
                    "session_key",
                    models.CharField(
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                        verbose_name="session key",
                    ),
                ),
                ("session_data", models.TextField(verbose_name="session data")),
                ("expire_date", models.DateTimeField(db_index=True, verbose_name="expire date")),
                ("account_id", models.BigIntegerField(db_index=True, null=True)),
            ],
            options={
                "verbose_name": "session",
                "verbose_name_plural": "sessions",
                "abstract": False,
            },
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
    ]
