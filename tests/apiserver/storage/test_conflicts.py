"""Compare-and-swap: every operation against every state of the key."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.storage import tenants
from apiserver.storage.errors import KeyExists, KeyMissing, Stale, TenantGone
from apiserver.storage.interface import Write
from apiserver.storage.models import ObjectRow
from apiserver.storage.postgres import PostgresStore
from tests.support.fixtures import in_thread, looking
from tests.support.storage import CONFIGMAPS, create, delete, key, stored, text, update


async def test_create_update_delete_draw_growing_versions(
    store: PostgresStore, tenant: int
) -> None:
    first = create(key("a"), "1")
    one = await store.write(tenant, first)
    two = await store.write(tenant, update(stored(first, one), "2"))
    record = await store.get(tenant, key("a"))
    assert record is not None and record.resource_version == two and b'"value":"2"' in record.data
    three = await store.write(tenant, delete(record))
    assert one < two < three
    assert await store.get(tenant, key("a")) is None
    assert await store.head(tenant) == three


async def test_what_is_read_is_byte_for_byte_what_was_written(
    store: PostgresStore, tenant: int
) -> None:
    data = (
        '{"kind":"X","apiVersion":"v1","metadata":{"name":"a"},'
        '"z":1.0,"a":1e3,"b":"ü\\u0001 \\\\u0000","z2":[ ]}'
    ).encode()
    version = await store.write(
        tenant, Write("create", key("a"), "0e4b1a5c-0000-4000-8000-000000000001", data)
    )
    record = await store.get(tenant, key("a"))
    assert record is not None and record.data == data
    assert record.uid == "0e4b1a5c-0000-4000-8000-000000000001"
    assert record.json.startswith(
        b'{"kind":"X","apiVersion":"v1","metadata":{"resourceVersion":"%d","name":"a"}' % version
    )


@pytest.mark.parametrize("state", ["absent", "present", "changed", "deleted"])
@pytest.mark.parametrize("operation", ["create", "update", "delete"])
async def test_matrix(store: PostgresStore, tenant: int, state: str, operation: str) -> None:
    first = create(key("a"), "1")
    known = stored(first, 1)
    current = 0
    if state != "absent":
        known = stored(first, await store.write(tenant, first))
        current = known.resource_version
    if state == "changed":
        current = await store.write(tenant, update(known, "2"))
    if state == "deleted":
        await store.write(tenant, delete(known))
    head = await store.head(tenant)
    write = {"create": create(key("a")), "update": update(known, "3"), "delete": delete(known)}[
        operation
    ]

    expected: dict[tuple[str, str], type[Exception]] = {
        ("absent", "update"): KeyMissing,
        ("absent", "delete"): KeyMissing,
        ("present", "create"): KeyExists,
        ("changed", "create"): KeyExists,
        ("changed", "update"): Stale,
        ("changed", "delete"): Stale,
        ("deleted", "update"): KeyMissing,
        ("deleted", "delete"): KeyMissing,
    }
    error = expected.get((state, operation))
    if error is None:
        assert await store.write(tenant, write) > head
        return
    with pytest.raises(error) as raised:
        await store.write(tenant, write)
    if isinstance(raised.value, Stale):
        assert raised.value.current == current
    assert await store.head(tenant) == head, "a refused write leaves no trace"


async def test_of_many_updates_from_one_version_one_wins(store: PostgresStore, tenant: int) -> None:
    first = create(key("a"))
    known = stored(first, await store.write(tenant, first))
    results = await asyncio.gather(
        *(store.write(tenant, update(known, str(i))) for i in range(20)), return_exceptions=True
    )
    versions = [r for r in results if isinstance(r, int)]
    assert len(versions) == 1
    assert all(
        isinstance(r, Stale) and r.current == versions[0] for r in results if not isinstance(r, int)
    )


async def test_same_name_in_other_tenant_namespace_or_resource_is_another_object(
    store: PostgresStore, tenant: int, postgres: str
) -> None:
    other = tenant + 500_000
    await in_thread(lambda: tenants.create(other))
    try:
        places = [
            key("a"),
            key("a", "other"),
            key("a", resource=CONFIGMAPS._replace(resource="secrets")),
        ]
        for k in places:
            await store.write(tenant, create(k, str(k)))
        await store.write(other, create(key("a"), "elsewhere"))
        record = await store.get(tenant, key("a"))
        assert record is not None and record.data == text(key("a"), str(key("a")))
        assert len((await store.list(other, CONFIGMAPS)).records) == 1
    finally:
        await in_thread(lambda: tenants.drop(other))


async def test_unknown_tenant_is_gone(store: PostgresStore, postgres: str) -> None:
    gone = 77
    for call in (
        store.write(gone, create(key("a"))),
        store.head(gone),
        store.get(gone, key("a")),
        store.list(gone, CONFIGMAPS),
        store.events(gone, 0),
        anext(store.snapshot(gone, CONFIGMAPS)),
    ):
        with pytest.raises(TenantGone):
            await call


async def test_columns_for_sql_users(store: PostgresStore, tenant: int) -> None:
    owned = create(
        key("a"), "v", owner_uids=('o"1', "o,2"), finalizers=("example.com/f",), deleting=True
    )
    await store.write(tenant, owned)
    row = await looking(lambda: ObjectRow.objects.get(tenant_id=tenant, name="a"))
    assert (row.owner_uids, row.finalizers, row.deleting) == (
        ['o"1', "o,2"],
        ["example.com/f"],
        True,
    )
    assert row.data["value"] == "v"
    assert row.size == len(owned.data)
