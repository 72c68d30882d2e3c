"""Whom the bindings name that were there before 0015: tenant by tenant, each in a transaction of
its own, so that a tenant's writers wait for its own bindings at most. Where it is interrupted, it
begins anew, and finds what it did."""

import logging
from typing import Any, ClassVar

from django.db import migrations

from apiserver.storage.visibility import django_everywhere

log = logging.getLogger("polyplane.storage")

_EVERY = 1000
"""Tenants between two lines of the log."""


def gather(apps: Any, editor: Any) -> None:
    with django_everywhere(editor.connection.alias), editor.connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id FROM tenant_heads ORDER BY tenant_id")
        tenants = [number for (number,) in cursor.fetchall()]
    with editor.connection.cursor() as cursor:
        for done, number in enumerate(tenants, 1):
            cursor.execute("SELECT pp_bind_tenant(%s)", [number])
            if done % _EVERY == 0:
                log.info("whom bindings name is gathered: %d of %d tenants", done, len(tenants))


class Migration(migrations.Migration):
    atomic = False

    dependencies: ClassVar = [("storage", "0015_bound_subjects")]

    operations: ClassVar = [migrations.RunPython(gather, migrations.RunPython.noop)]
