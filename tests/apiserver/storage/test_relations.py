"""Questions of the controllers: whose owners are gone, and what a namespace still holds."""

from __future__ import annotations

import time

import psycopg

from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.storage import create, key


async def test_an_orphan_has_no_owner_left_and_is_no_newborn(store: PostgresStore, tenant: int, postgres: str) -> None:
    owner = create(key("owner"))
    await store.write(tenant, owner)
    await store.write(tenant, create(key("kept"), owner_uids=("not a uuid", owner.uid)))
    await store.write(tenant, create(key("orphan"), owner_uids=("6e0ea4c1-0000-4000-8000-000000000000", "not a uuid")))
    await store.write(tenant, create(key("going"), owner_uids=("not a uuid",), deleting=True))
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("UPDATE objects SET created_at = now() - interval '1 hour' WHERE tenant_id = %s", [tenant])
    await store.write(tenant, create(key("newborn"), owner_uids=("not a uuid",)))
    found = await Relations(store.database).orphaned()
    assert [f.key.name for f in found if f.tenant == tenant] == ["orphan"]


async def test_looking_for_orphans_does_not_compare_everything_with_everything(store: PostgresStore, tenant: int, postgres: str) -> None:
    insert = """
        INSERT INTO objects (tenant_id, api_group, resource, namespace, name, uid, resource_version, data, owner_uids, finalizers, deleting,
            created_at, size)
        SELECT %s, '', %s, 'd', i, md5(%s || i)::uuid, i, '{}', CASE WHEN %s THEN ARRAY[md5('owners' || i)::uuid::text] ELSE '{}' END,
            '{}', false, now() - interval '1 hour', 2 FROM generate_series(1, 5000) i"""
    with psycopg.connect(postgres, autocommit=True) as connection:
        for resource, owned in (("owners", False), ("owned", True)):
            connection.execute(insert, [tenant, resource, resource, owned])
    began = time.monotonic()
    found = await Relations(store.database).orphaned()
    assert [f for f in found if f.tenant == tenant] == []
    assert time.monotonic() - began < 2.0, "25 million comparisons take far longer"


async def test_what_waits_in_a_namespace_does_not_hide_what_has_not_been_deleted_yet(store: PostgresStore, tenant: int) -> None:
    for i in range(5):
        await store.write(tenant, create(key(f"a-waits-{i}"), finalizers=("x/y",), deleting=True))
    await store.write(tenant, create(key("z-stays")))
    found = await Relations(store.database).in_namespace(tenant, "default", limit=3)
    assert found[0].key.name == "z-stays"


async def test_pages_of_what_waits_go_on_behind_what_is_stuck(store: PostgresStore, tenant: int) -> None:
    for i in range(5):
        await store.write(tenant, create(key(f"n{i}"), finalizers=("orphan",), deleting=True))
    relations, seen, last = Relations(store.database), [], None
    while page := await relations.waiting(last, limit=2):
        seen += [f.key.name for f in page if f.tenant == tenant]
        last = page[-1]
    assert sorted(seen) == [f"n{i}" for i in range(5)]


async def test_dependents_of_several_owners_in_one_question(store: PostgresStore, tenant: int) -> None:
    for name, owners in (("a", ("1",)), ("b", ("1", "2")), ("c", ("3",))):
        await store.write(tenant, create(key(name), owner_uids=owners))
    assert sorted(f.key.name for f in await Relations(store.database).dependents(tenant, "1", "2")) == ["a", "b"]
