"""The laws of watching through conversion: a selecting watch sees what one on the unconverted
objects sees, if nothing is converted."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.errors import ApiError
from apiserver.kinds.served import ConversionWebhook
from apiserver.meta.gvk import GroupResource
from apiserver.registry import versions
from apiserver.registry.offload import Asker
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.versions import Conversions
from apiserver.storage.interface import (
    Event,
    EventType,
    ObjectKey,
    Record,
    splice_resource_version,
    without_resource_version,
)
from apiserver.watch.cache import Cache
from apiserver.watch.entry import WatchEvent
from tests.support.definitions import definition, resource_of

FOOS = GroupResource("example.com", "foos")
NAMES = ("a", "b")


def index(resource: GroupResource, data: bytes) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return orjson.loads(data)["metadata"].get("labels") or {}, {}


def selected(labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    return labels.get("x") == "1"


class Unconverted:
    """A converter that finds every object in the right version."""

    async def entries(
        self, tenant: Any, lookup: Any, resource: Any, entries: Any, version: str
    ) -> Any:
        return list(entries)


def registry() -> Any:
    return SimpleNamespace(converter=Unconverted(), lookup=lambda tenant: None)


def scope() -> Any:
    resource = resource_of(definition())
    resource.webhook = ConversionWebhook({}, "v1")
    return SimpleNamespace(resource=resource, tenant=None, version="v1")


def log(steps: list[tuple[str, str]]) -> list[Event]:
    """Events of writes that set label x of an object, or ("" for it) delete it."""
    found: list[Event] = []
    state: dict[str, bytes] = {}
    for version, (name, label) in enumerate(steps, 1):
        if not label and name not in state:
            continue
        kind: EventType = "DELETED" if not label else "MODIFIED" if name in state else "ADDED"
        if label:
            metadata = {"name": name, "labels": {"x": label}}
            state[name] = orjson.dumps(
                {"kind": "Foo", "apiVersion": "example.com/v1", "metadata": metadata}
            )
        data = state[name] if label else state.pop(name)
        found.append(
            Event(
                kind,
                Record(ObjectKey(*FOOS, "", name), f"uid-{name}", version, data),
                version - 1,
                0,
            )
        )
    return found


def shown(events: list[WatchEvent]) -> list[tuple[str, bytes]]:
    return [(event.type, event.entry.json) for event in events]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["", "1", "2"])), max_size=20))
async def test_selecting_after_conversion_is_selecting(steps: list[tuple[str, str]]) -> None:
    cache = Cache(FOOS, index, SimpleNamespace(position=0))
    changes = [change for event in log(steps) if (change := cache.apply(event)) is not None]
    wanted = [event for change in changes if (event := change.seen(selected)) is not None]
    everything = [event for change in changes if (event := change.seen(None)) is not None]
    selecting = Conversions(registry(), cast(Any, scope()), selected)
    assert shown(await selecting.events(everything)) == shown(wanted)
    assert await Conversions(registry(), cast(Any, scope()), None).events(everything) == everything


async def test_versions_of_many_objects_are_looked_at_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads, look = set[int](), versions.stored_api_version

    def seen(data: bytes) -> str:
        threads.add(threading.get_ident())
        return look(data)

    monkeypatch.setattr(versions, "stored_api_version", seen)
    monkeypatch.setattr(versions, "_MANY", 2)
    tenant = Tenant(1, "test")
    asking = SimpleNamespace(
        resource=resource_of(definition()), asker=lambda size: Asker(tenant, size)
    )
    data = b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":{}}'
    states = [Record(ObjectKey(*FOOS, "ns", name), "u", 1, data) for name in "abc"]
    assert await versions.in_version(registry(), cast(Scope, asking), states[:2]) == states[:2]
    assert threads == {threading.get_ident()}
    threads.clear()
    assert await versions.in_version(registry(), cast(Scope, asking), states) == states
    assert threads and threading.get_ident() not in threads
    strange = Record(states[0].key, "u", 1, data.replace(b"/v1", b"/v7"))
    with pytest.raises(ApiError, match="v7"):
        await versions.in_version(registry(), cast(Scope, asking), [*states, strange])


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3), st.integers(1, 2**40))
def test_a_resource_version_that_was_put_in_can_be_taken_out(
    labels: dict[str, str], version: int
) -> None:
    metadata = {"labels": labels} if labels else {}
    data = orjson.dumps(
        {
            "kind": "Foo",
            "apiVersion": "example.com/v1",
            "metadata": metadata,
            "spec": {"metadata": {"resourceVersion": "7"}},
        }
    )
    assert without_resource_version(splice_resource_version(data, version), version) == data
