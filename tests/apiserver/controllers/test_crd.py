"""The life of a definition in one worker and as another worker sees it: served at once, changed,
deleted with its objects."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.errors import Forbidden, Invalid, NotFound
from apiserver.meta.objects import Object
from apiserver.registry import deletion, reading, selection
from apiserver.registry.customcatalog import DEFINITIONS
from apiserver.registry.options import DeleteOptions, ListOptions
from apiserver.watch.errors import WatchClosed
from tests.support.definitions import definition
from tests.support.definitionworker import Worker
from tests.support.waiting import PATIENCE

SPEC: Object = {
    "type": "object",
    "properties": {"color": {"type": "string", "default": "red"}, "size": {"type": "integer"}},
}
SCHEMA: Object = {"type": "object", "properties": {"spec": SPEC}}


FOOS = ("example.com", "foos")


def foo(name: str = "f", **members: Any) -> Object:
    return {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}, **members}


async def test_objects_can_be_created_as_soon_as_the_definition_is_served(
    worker: Worker, other: Worker
) -> None:
    await worker.create(DEFINITIONS, definition(SCHEMA))
    await worker.until(lambda: worker.serves(FOOS))
    made = await worker.create(FOOS, foo(spec={"size": 1, "unknown": True}))
    assert made["spec"] == {"size": 1, "color": "red"}
    await other.until(lambda: other.serves(FOOS))
    with pytest.raises(Invalid, match=r"spec\.size"):
        await other.create(FOOS, foo("g", spec={"size": "x"}))


async def test_another_worker_that_asks_for_the_latest_never_misses_a_definition(
    worker: Worker, other: Worker
) -> None:
    await worker.create(DEFINITIONS, definition(SCHEMA))
    await worker.until(lambda: worker.serves(FOOS))
    await other.catalog.fresh(other.tenant)
    assert other.serves(FOOS)


async def test_a_definition_that_changes_replaces_only_its_own_resource(worker: Worker) -> None:
    await worker.create(DEFINITIONS, definition(SCHEMA))
    await worker.create(DEFINITIONS, definition(SCHEMA, kind="Bar"))
    bars = ("example.com", "bars")
    await worker.until(lambda: worker.serves(FOOS) and worker.serves(bars))
    before, foos = (
        worker.catalog.find(worker.tenant, *bars),
        worker.catalog.find(worker.tenant, *FOOS),
    )

    def widen(crd: Object) -> None:
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
            "new"
        ] = {"type": "string"}

    await worker.change(DEFINITIONS, "foos.example.com", widen)
    await worker.until(lambda: worker.catalog.find(worker.tenant, *FOOS) is not foos)
    assert worker.catalog.find(worker.tenant, *bars) is before
    assert (await worker.create(FOOS, foo(spec={"new": "kept"})))["spec"] == {
        "new": "kept",
        "color": "red",
    }


async def test_defaults_that_came_later_show_on_stored_objects(worker: Worker) -> None:
    await worker.create(DEFINITIONS, definition(SCHEMA))
    await worker.until(lambda: worker.serves(FOOS))
    await worker.create(FOOS, foo(spec={"size": 1}))
    foos = worker.catalog.find(worker.tenant, *FOOS)

    def add(crd: Object) -> None:
        members = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"][
            "properties"
        ]
        members["late"] = {"type": "integer", "default": 7}
        del members["size"]

    await worker.change(DEFINITIONS, "foos.example.com", add)
    await worker.until(lambda: worker.catalog.find(worker.tenant, *FOOS) is not foos)
    found = (await reading.get(worker.registry, worker.scope(FOOS, "f"))).object
    assert found["spec"] == {"color": "red", "late": 7}


async def test_deletion_takes_the_objects_along_and_ends_their_watches(worker: Worker) -> None:
    await worker.create(DEFINITIONS, definition(SCHEMA))
    await worker.until(lambda: worker.serves(FOOS))
    for name in ("a", "b"):
        await worker.create(FOOS, foo(name))
    storage = worker.scope(FOOS).resource.storage
    watch = await worker.registry.watches.subscribe(worker.tenant.id, storage, after=None)
    seen: list[tuple[str, str]] = []
    gone = await deletion.delete(
        worker.registry, worker.scope(DEFINITIONS, "foos.example.com"), DeleteOptions()
    )
    assert gone.object["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    await worker.until(lambda: not worker.serves(FOOS))
    assert not (await worker.registry.store.list(worker.tenant.id, storage)).records
    with pytest.raises(WatchClosed):
        async with asyncio.timeout(PATIENCE):
            while True:
                seen += [(event.type, event.entry.name) for event in await watch.next(1)]
    assert sorted(seen) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("DELETED", "b")]
    with pytest.raises(NotFound):
        await reading.get(worker.registry, worker.scope(DEFINITIONS, "foos.example.com"))


async def test_nothing_is_created_while_objects_with_finalizers_hold_a_definition_back(
    worker: Worker,
) -> None:
    await worker.create(DEFINITIONS, definition(SCHEMA))
    await worker.until(lambda: worker.serves(FOOS))
    held = foo()
    held["metadata"]["finalizers"] = ["example.com/wait"]
    await worker.create(FOOS, held)
    await deletion.delete(
        worker.registry, worker.scope(DEFINITIONS, "foos.example.com"), DeleteOptions()
    )
    await worker.until(lambda: bool(worker.scope(FOOS).resource.hooks.__dict__.get("terminating")))
    with pytest.raises(Forbidden, match="while custom resource definition is terminating"):
        await worker.create(FOOS, foo("g"))
    await asyncio.sleep(0.1)
    assert worker.serves(FOOS)
    await worker.change(FOOS, "f", lambda obj: obj["metadata"].pop("finalizers"))
    await worker.until(lambda: not worker.serves(FOOS))


async def test_names_that_become_free_go_to_the_definition_that_waits(worker: Worker) -> None:
    second = definition(SCHEMA, kind="Bar")
    second["spec"]["names"] |= {"kind": "Foo", "listKind": "BarList", "singular": "bar"}
    bars = ("example.com", "bars")
    await worker.create(DEFINITIONS, definition(SCHEMA))
    await worker.until(lambda: worker.serves(FOOS))
    await worker.create(DEFINITIONS, second)
    await worker.until(
        lambda: bool(
            worker.catalog.definitions(worker.tenant)["bars.example.com"]
            .outline["status"]
            .get("conditions")
        )
    )
    assert not worker.serves(bars)
    await deletion.delete(
        worker.registry, worker.scope(DEFINITIONS, "foos.example.com"), DeleteOptions()
    )
    await worker.until(lambda: worker.serves(bars))


async def test_every_served_version_has_an_api_service_for_as_long_as_it_is_served(
    worker: Worker,
) -> None:
    services = ("apiregistration.k8s.io", "apiservices")

    async def found() -> bool:
        try:
            await reading.get(worker.registry, worker.scope(services, "v1.example.com"))
        except NotFound:
            return False
        return True

    async def until(wanted: bool) -> None:
        async def so() -> bool:
            return await found() is wanted

        await worker.until_true(so)

    await worker.create(DEFINITIONS, definition(SCHEMA))
    await until(True)
    await deletion.delete(
        worker.registry, worker.scope(DEFINITIONS, "foos.example.com"), DeleteOptions()
    )
    await until(False)


async def test_lists_select_by_the_fields_of_the_definition(worker: Worker) -> None:
    await worker.create(
        DEFINITIONS,
        definition(
            SCHEMA, selectableFields=[{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}]
        ),
    )
    await worker.until(lambda: worker.serves(FOOS))
    await worker.create(FOOS, foo("a", spec={"color": "blue", "size": 1}))
    await worker.create(FOOS, foo("b", spec={"size": 1}))
    scope = worker.scope(FOOS)
    for text, names in (
        ("spec.color=blue", ["a"]),
        ("spec.size=1,spec.color!=blue", ["b"]),
        ("spec.color=red", ["b"]),
    ):
        options = ListOptions.parse({"fieldSelector": [text]})
        chosen = selection.parse(scope.resource, "v1", options)
        listing = await reading.list_(worker.registry, scope, options, chosen)
        assert [entry.json.split(b'"name":"')[1][:1].decode() for entry in listing.items] == names
