"""What tenants declare as indexed is indexed, and the objects say how far that is."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.controllers import fieldindexes
from apiserver.controllers.actions import Actions
from apiserver.controllers.fieldindexes import FieldIndexes
from apiserver.kinds.search.fieldindex import INDEXES
from apiserver.registry.definitions import DEFINITIONS
from apiserver.search.fieldindexer import follow
from apiserver.storage.interface import ObjectKey
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitions import definition
from tests.support.definitionworker import Worker


def index(name: str, path: str, group: str = "", of: str = "configmaps") -> Any:
    return {"metadata": {"name": name}, "spec": {"group": group, "resource": of, "path": path}}


def keeper(worker: Worker, store: PostgresStore) -> FieldIndexes:
    return FieldIndexes(Actions(worker.registry), Relations(store.database))


async def ready(worker: Worker, store: PostgresStore, name: str) -> tuple[str, str]:
    found = await Actions(worker.registry).get(worker.tenant, ObjectKey(*INDEXES, "", name))
    assert found is not None
    (condition,) = found["status"]["conditions"]
    assert condition["type"] == "Ready"
    assert condition["observedGeneration"] == found["metadata"]["generation"]
    return condition["status"], condition["reason"]


async def test_an_index_is_ready_once_it_is_built(worker: Worker, store: PostgresStore) -> None:
    looks, tenant = keeper(worker, store), worker.tenant
    await worker.create(INDEXES, index("colour", "data.colour"))
    assert await looks.look(tenant, "colour") == fieldindexes.AGAIN
    assert await ready(worker, store, "colour") == ("False", "Building")
    assert await follow(store.fields, tenant.id, 100)
    assert await looks.look(tenant, "colour") is None
    assert await ready(worker, store, "colour") == ("True", "Built")
    head = await store.head(tenant.id)
    assert await looks.look(tenant, "colour") is None
    assert await store.head(tenant.id) == head, "what is said already is not written again"


async def test_an_index_of_what_is_not_served_says_so_until_it_is(
    worker: Worker, store: PostgresStore
) -> None:
    looks, tenant = keeper(worker, store), worker.tenant
    await worker.create(INDEXES, index("sizes", "spec.size", group="example.com", of="foos"))
    await looks.look(tenant, "sizes")
    await follow(store.fields, tenant.id, 100)
    assert await looks.look(tenant, "sizes") == fieldindexes.UNKNOWN_AGAIN
    assert await ready(worker, store, "sizes") == ("False", "UnknownResource")
    await worker.create(DEFINITIONS, definition())
    await worker.until(lambda: worker.serves(("example.com", "foos")))
    await follow(store.fields, tenant.id, 100)
    assert await looks.look(tenant, "sizes") is None
    assert await ready(worker, store, "sizes") == ("True", "Built")


async def test_the_oldest_are_kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fieldindexes, "MOST", 2)
    looks, tenant = keeper(worker, store), worker.tenant
    for name, path in (("a", "data.a"), ("b", "data.b"), ("b-again", "data.b"), ("c", "data.c")):
        await worker.create(INDEXES, index(name, path))
    await looks.look(tenant, "a")
    await follow(store.fields, tenant.id, 100)
    for name in ("b-again", "c"):
        await looks.look(tenant, name)
    assert await ready(worker, store, "b-again") == ("True", "Built")
    assert await ready(worker, store, "c") == ("False", "TooMany")
    assert [i.field.path for i in await store.fields.indexes(tenant.id)] == ["data.a", "data.b"]


async def test_what_a_dead_process_left_is_found(worker: Worker, store: PostgresStore) -> None:
    looks, tenant = keeper(worker, store), worker.tenant
    assert await looks.missed(tenant.id) == []
    await worker.create(INDEXES, index("colour", "data.colour"))
    assert await looks.missed(tenant.id) == ["colour"]
    await looks.look(tenant, "colour")
    actions = Actions(worker.registry)
    item = await actions.item(tenant, ObjectKey(*INDEXES, "", "colour"))
    assert item is not None
    await actions.delete(tenant, item.key, item.uid)
    assert await looks.missed(tenant.id) == [""]
    assert await looks.look(tenant, "") is None
    assert await looks.missed(tenant.id) == []
