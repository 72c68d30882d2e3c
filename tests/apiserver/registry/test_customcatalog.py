"""What a process keeps of tenants' definitions: schemas once for all, compiled when they are
needed, and nothing of who is idle."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from apiserver.kinds.apiextensions import schemas
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.definitions import DEFINITIONS
from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from tests.support.definitions import definition
from tests.support.definitionworker import Worker, running
from tests.support.fixtures import store, tenant
from tests.support.storage import numbers

__all__ = ["store", "tenant"]

FOOS = ("example.com", "foos")


@pytest.fixture
def second(postgres: str) -> Iterator[int]:
    number = next(numbers)
    tenants.create(number)
    yield number
    tenants.drop(number)


def schema(text: str) -> Object:
    return {"type": "object", "description": text, "properties": {"size": {"type": "integer"}}}


async def served(worker: Worker, crd: Object) -> None:
    await worker.create(DEFINITIONS, crd)
    await worker.until(lambda: worker.serves(FOOS))


async def leave(worker: Worker) -> None:
    """Nobody uses the tenant any more, as soon as somebody looks."""
    worker.catalog._followed = 0.0
    await worker.create(DEFINITIONS, definition(kind="Last"))


async def test_a_tenant_that_nobody_uses_is_forgotten(store: PostgresStore, tenant: int) -> None:
    async with running(store, tenant, "one") as worker:
        await served(worker, definition())
        await leave(worker)
        await worker.until(
            lambda: (
                worker.catalog.used(tenant) is None and not worker.controller._settling.busy(tenant)
            )
        )
        assert not worker.serves(FOOS)
        await worker.catalog.ready(worker.tenant)
        assert worker.serves(FOOS)


async def test_a_tenant_is_followed_while_somebody_watches_its_objects(
    store: PostgresStore, tenant: int
) -> None:
    async with running(store, tenant, "one") as worker:
        watch = await worker.registry.watches.subscribe(
            tenant, GroupResource("", "configmaps"), after=None
        )
        await leave(worker)
        await worker.until(lambda: worker.serves(("example.com", "lasts")))
        assert worker.catalog.used(tenant) == worker.tenant
        watch.cancel()
        await worker.until(lambda: worker.catalog.used(tenant) is None)


async def test_a_waiting_definition_keeps_no_idle_tenant_in_memory(
    store: PostgresStore, tenant: int
) -> None:
    async with running(store, tenant, "one") as worker:
        await served(worker, definition())
        await worker.create(
            FOOS,
            {
                "apiVersion": "example.com/v1",
                "kind": "Foo",
                "metadata": {"name": "f", "finalizers": ["a.b/c"]},
            },
        )
        await worker.delete(DEFINITIONS, "foos.example.com")
        await worker.until(lambda: bool(worker.controller._instances._held))
        await leave(worker)
        await worker.until(lambda: worker.catalog.used(tenant) is None)
        await worker.until(lambda: not worker.controller._instances._rounds.busy(tenant))
        assert not worker.controller._instances._held


async def test_equal_definitions_of_two_tenants_share_a_schema_that_is_compiled_when_it_is_needed(
    store: PostgresStore, tenant: int, second: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(store, tenant, "one") as worker:
        await served(worker, definition(schema("shared")))
    compiled = []
    structural = schemas.structural
    monkeypatch.setattr(
        schemas, "structural", lambda props: compiled.append(props) or structural(props)
    )
    schemas._recent.clear()
    gc.collect()
    async with running(store, tenant, "one") as one, running(store, second, "one") as two:
        assert one.serves(FOOS) and not compiled, "nobody has asked for it"
        await served(two, definition(schema("shared")))
        first, other = (w.catalog.find(w.tenant, *FOOS) for w in (one, two))
        assert first is not None and other is not None and first is not other
        assert first.versions["v1"].schema is other.versions["v1"].schema
        assert len(compiled) == 1


async def test_schemas_that_nobody_serves_are_let_go() -> None:
    kept = schemas.source(schema("kept"))
    for i in range(100):
        schemas.source(schema(f"passing {i}"))
    gc.collect()
    assert schemas.source(schema("kept")) is kept
    assert sum(1 for found in schemas._sources.values() if b"passing" in found._text) <= 40


async def test_a_change_of_one_definition_leaves_the_resources_of_others(
    store: PostgresStore, tenant: int
) -> None:
    async with running(store, tenant, "one") as worker:
        for kind in ("Foo", "Bar"):
            await worker.create(DEFINITIONS, definition(kind=kind))
        bars = ("example.com", "bars")
        await worker.until(lambda: worker.serves(FOOS) and worker.serves(bars))
        before, foos = (
            worker.catalog.find(worker.tenant, *bars),
            worker.catalog.find(worker.tenant, *FOOS),
        )
        await worker.change(
            DEFINITIONS, "foos.example.com", lambda crd: crd["metadata"].update(labels={"a": "b"})
        )
        assert worker.catalog.find(worker.tenant, *FOOS) is foos, "metadata alone change nothing"
        await worker.change(
            DEFINITIONS,
            "foos.example.com",
            lambda crd: crd["spec"]["names"].update(shortNames=["f"]),
        )
        await worker.until(lambda: worker.catalog.find(worker.tenant, *FOOS) is not foos)
        assert worker.catalog.find(worker.tenant, *bars) is before
