"""manage.py restored: versions go on above all that were seen; not beside a server, and not
unasked."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command

from apiserver.storage import presence
from apiserver.storage.models import TenantHead
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.visibility import django_everywhere
from controlplane.errors import OperatorError
from controlplane.tenancy import service
from tests.support.waiting import until_true


def restored(*arguments: str) -> Any:
    out = StringIO()
    call_command("restored", *arguments, "-o", "json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def test_after_a_restore_versions_go_on_above_all_that_were_seen(postgres: str) -> None:
    for name in ("restored-a", "restored-b"):
        service.ensure_tenant(name)
    number = service.get_tenant("restored-a").pk
    with django_everywhere():
        before = TenantHead.objects.get(tenant_id=number).head
    with pytest.raises(OperatorError, match="--yes"):
        restored("--tenant", "restored-a")
    with django_everywhere():
        assert TenantHead.objects.get(tenant_id=number).head == before, "nobody has said so"
    (one,) = restored("--tenant", "restored-a", "--yes")
    with django_everywhere():
        after = TenantHead.objects.get(tenant_id=number)
    assert one == {"tenant": "restored-a", "resourceVersion": str(after.head)}
    assert after.head >= before + 1_000_000
    assert after.floor == after.head, "whoever goes on from an earlier one gets 410"
    every = {one["tenant"]: int(one["resourceVersion"]) for one in restored("--yes")}
    assert every.keys() >= {"restored-a", "restored-b"}
    assert every["restored-a"] > after.head


async def test_nothing_is_said_to_be_restored_beside_a_server(postgres: str) -> None:
    """Its history would be gone, and what it remembers would go on."""
    await sync_to_async(service.ensure_tenant)("restored-c")
    number = (await sync_to_async(service.get_tenant)("restored-c")).pk
    again = sync_to_async(lambda *flags: restored("--tenant", "restored-c", *flags))
    store = PostgresStore(postgres)
    await store.open()
    try:
        before = await store.head(number)
        await until_true(lambda: sync_to_async(presence.stores)())
        with pytest.raises(OperatorError, match="A server uses this database") as refused:
            await again()
        assert "--while-running" in refused.value.fix
        assert await store.head(number) == before
        (one,) = await again("--while-running", "--yes")
        assert int(one["resourceVersion"]) == await store.head(number) > before
    finally:
        await store.close()
    await until_true(lambda: sync_to_async(lambda: not presence.stores())())
    assert await again("--yes")
