"""What needs another object is created or changed only while that is there and not marked for
deletion, whoever asks at the same moment."""

from __future__ import annotations

import asyncio
import dataclasses
from uuid import uuid4

import pytest

from apiserver.storage.errors import NeedMissing
from apiserver.storage.postgres import PostgresStore
from tests.support.storage import create, delete, key, stored, update


async def test_only_while_the_other_is_there_and_not_marked(
    store: PostgresStore, tenant: int
) -> None:
    owner = create(key("owner"))
    record = stored(owner, await store.write(tenant, owner))
    first = dataclasses.replace(create(key("a")), needs=owner.uid)
    await store.write(tenant, first)
    marked = dataclasses.replace(update(record, "x"), deleting=True)
    record = stored(marked, await store.write(tenant, marked))
    second = dataclasses.replace(create(key("b")), needs=owner.uid)
    with pytest.raises(NeedMissing):
        await store.write(tenant, second)
    await store.write(tenant, delete(record))
    with pytest.raises(NeedMissing):
        await store.write(tenant, second)
    assert [r.key.name for r in (await store.list(tenant, first.key.group_resource)).records] == [
        "a"
    ]


async def test_an_update_needs_it_too_and_a_deletion_does_not(
    store: PostgresStore, tenant: int
) -> None:
    owner = create(key("owner"))
    holder = stored(owner, await store.write(tenant, owner))
    first = create(key("a"))
    record = stored(first, await store.write(tenant, first))
    change = dataclasses.replace(update(record, "x"), needs=owner.uid)
    record = stored(change, await store.write(tenant, change))
    await store.write(tenant, dataclasses.replace(update(holder, "x"), deleting=True))
    with pytest.raises(NeedMissing):
        await store.write(tenant, dataclasses.replace(update(record, "y"), needs=owner.uid))
    other = update(record, "y")
    record = stored(other, await store.write(tenant, other))
    await store.write(tenant, dataclasses.replace(delete(record), needs=owner.uid))


async def test_one_of_the_same_name_does_not_count(store: PostgresStore, tenant: int) -> None:
    await store.write(tenant, create(key("owner")))
    with pytest.raises(NeedMissing):
        await store.write(tenant, dataclasses.replace(create(key("a")), needs=str(uuid4())))


async def test_a_refused_write_disturbs_no_other_of_its_batch(
    store: PostgresStore, tenant: int
) -> None:
    writes = [
        dataclasses.replace(create(key(f"n{i}")), needs=str(uuid4()) if i % 2 else "")
        for i in range(8)
    ]
    results = await asyncio.gather(
        *(store.write(tenant, w) for w in writes), return_exceptions=True
    )
    assert [isinstance(r, NeedMissing) for r in results] == [bool(i % 2) for i in range(8)]
