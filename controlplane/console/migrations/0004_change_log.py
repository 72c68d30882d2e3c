"""The log of changes is called so: Events are Kubernetes' own."""

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("console", "0003_oidc_identities")]

    operations: ClassVar = [
        migrations.AlterModelOptions(
            name="storedevent",
            options={
                "managed": False,
                "ordering": ["-tenant_id", "-resource_version"],
                "verbose_name": "change",
                "verbose_name_plural": "change log",
            },
        ),
    ]
