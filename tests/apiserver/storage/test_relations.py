"""Questions of the controllers: whose owners are gone, and what a namespace still holds."""

from __future__ import annotations

import asyncio
import uuid

import psycopg
import pytest

from apiserver.meta.gvk import GroupResource
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Below, Owner, Relations
from tests.support.storage import create, key, stored, update


async def test_an_orphan_has_no_owner_left_and_is_no_newborn(
    store: PostgresStore, tenant: int, owner: str
) -> None:
    parent = create(key("owner"))
    await store.write(tenant, parent)
    await store.write(tenant, create(key("kept"), owner_uids=("not a uuid", parent.uid)))
    await store.write(
        tenant,
        create(key("orphan"), owner_uids=("6e0ea4c1-0000-4000-8000-000000000000", "not a uuid")),
    )
    await store.write(tenant, create(key("going"), owner_uids=("not a uuid",), deleting=True))
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            "UPDATE objects SET created_at = now() - interval '1 hour' WHERE tenant_id = %s",
            [tenant],
        )
    await store.write(tenant, create(key("newborn"), owner_uids=("not a uuid",)))
    found = await Relations(store.database).orphaned()
    assert [f.key.name for f in found if f.tenant == tenant] == ["orphan"]


@pytest.mark.parametrize("known", [3, 10])
async def test_looking_for_orphans_does_not_compare_everything_with_everything(
    store: PostgresStore, tenant: int, owner: str, known: int
) -> None:
    """known: how many objects with an owner the planner's statistics know of."""
    insert = """
        INSERT INTO objects (tenant_id, api_group, resource, namespace, name, uid, resource_version,
            data, owner_uids, finalizers, deleting, created_at, size)
        SELECT %s, '', %s, 'd', i, md5(%s || i)::uuid, i,
            '{}', CASE WHEN %s THEN ARRAY[md5('owners' || i)::uuid::text] ELSE '{}' END,
            '{}', false, now() - interval '1 hour', 2 FROM generate_series(1, %s) i"""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(insert, [tenant, "few", "few", False, 500])
        connection.execute(insert, [tenant, "known", "known", True, known])
        connection.execute("ANALYZE objects")
        for resource, owned in (("owners", False), ("owned", True)):
            connection.execute(insert, [tenant, resource, resource, owned, 30000])
    async with asyncio.timeout(60):  # a second; 900 million comparisons take minutes
        found = await Relations(store.database).orphaned()
    assert [f for f in found if f.tenant == tenant] == []


async def test_what_waits_in_a_namespace_does_not_hide_what_has_not_been_deleted_yet(
    store: PostgresStore, tenant: int
) -> None:
    for i in range(5):
        await store.write(tenant, create(key(f"a-waits-{i}"), finalizers=("x/y",), deleting=True))
    await store.write(tenant, create(key("z-stays")))
    relations, seen, last = Relations(store.database), [], None
    while page := await relations.in_namespace(tenant, "default", after=last, limit=3):
        seen += [f.key.name for f in page]
        last = page[-1]
    assert seen == [*(f"a-waits-{i}" for i in range(5)), "z-stays"]
    ((resource, finalizers, count), _) = await relations.left_in(tenant, "default")
    assert (resource.resource, finalizers, count) == ("configmaps", [], 1)


async def test_pages_of_what_waits_go_on_behind_what_is_stuck(
    store: PostgresStore, tenant: int
) -> None:
    for i in range(5):
        await store.write(tenant, create(key(f"n{i}"), finalizers=("orphan",), deleting=True))
    relations, seen, last = Relations(store.database), [], None
    while page := await relations.waiting(last, limit=2):
        seen += [f.key.name for f in page if f.tenant == tenant]
        last = page[-1]
    assert sorted(seen) == [f"n{i}" for i in range(5)]


async def test_dependents_of_several_owners_in_one_question(
    store: PostgresStore, tenant: int
) -> None:
    writes = [
        create(key(name), owner_uids=owners)
        for name, owners in (("a", ("1",)), ("b", ("1", "2")), ("c", ("3",)))
    ]
    event = create(key("e", resource=GroupResource("", "events")), owner_uids=("1",))
    for write in (*writes, event):
        await store.write(tenant, write)
    found = await Relations(store.database).dependents(tenant, ["1", "2"])
    assert {d.uid for d in found} == {writes[0].uid, writes[1].uid}, "and no event"


async def test_what_is_below_an_owner(store: PostgresStore, tenant: int) -> None:
    relations = Relations(store.database)
    assert await relations.below(tenant, "1") == Below(any=False, waiting=False)
    await store.write(
        tenant, create(key("a"), owner_uids=("1",), finalizers=("foregroundDeletion",))
    )
    await store.write(
        tenant, create(key("b"), owner_uids=("1",), deleting=True, finalizers=("x/y",))
    )
    assert await relations.below(tenant, "1") == Below(any=True, waiting=False)
    await store.write(
        tenant,
        create(
            key("c"), owner_uids=("1",), deleting=True, finalizers=("x/y", "foregroundDeletion")
        ),
    )
    assert await relations.below(tenant, "1") == Below(any=True, waiting=True)


async def test_owners_are_found_by_uids_whatever_texts_are_asked_for(
    store: PostgresStore, tenant: int
) -> None:
    solid, waiting = (
        create(key("a")),
        create(key("b"), deleting=True, finalizers=("foregroundDeletion",)),
    )
    for write in (solid, waiting):
        await store.write(tenant, write)
    odd = ["", "-" * 36, solid.uid.upper(), "{" + solid.uid + "}", "x" * 100_000, str(uuid.uuid4())]
    found = await Relations(store.database).owners(tenant, {solid.uid, waiting.uid, *odd})
    assert found == {
        solid.uid: Owner(solid.key, waiting=False),
        waiting.uid: Owner(waiting.key, waiting=True),
    }


async def test_an_owner_in_another_namespace_keeps_nobody_from_being_an_orphan(
    store: PostgresStore, tenant: int, owner: str
) -> None:
    parent, cluster = create(key("owner", namespace="one")), create(key("cluster", namespace=""))
    await store.write(tenant, parent)
    await store.write(tenant, cluster)
    for name, namespace, uid in (
        ("a", "one", parent.uid),
        ("b", "two", parent.uid),
        ("c", "two", cluster.uid),
    ):
        await store.write(tenant, create(key(name, namespace=namespace), owner_uids=(uid,)))
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            "UPDATE objects SET created_at = now() - interval '1 hour' WHERE tenant_id = %s",
            [tenant],
        )
    found = await Relations(store.database).orphaned()
    assert [f.key.name for f in found if f.tenant == tenant] == ["b"]


async def test_records_by_uid_are_those_of_the_moment(store: PostgresStore, tenant: int) -> None:
    one, two = create(key("a"), "first"), create(key("b"))
    await store.write(tenant, one)
    version = await store.write(tenant, two)
    changed = update(stored(two, version), "changed")
    version = await store.write(tenant, changed)
    found = {r.uid: r for r in await store.records(tenant, [one.uid, two.uid, str(uuid.uuid4())])}
    assert set(found) == {one.uid, two.uid}
    assert found[two.uid] == stored(changed, version)
