"""First pages of lists that nobody has put in order yet are the beginning of the order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import cmp_to_key
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.kinds.apiextensions.jsonpath import parse_path
from apiserver.meta.gvk import GroupResource
from apiserver.registry import answers, beginnings, orders
from apiserver.registry.beginnings import beginning, is_known
from apiserver.registry.glances import glance_at
from apiserver.registry.options import ListOptions
from apiserver.registry.orders import Sorting
from apiserver.registry.questions import read
from apiserver.schema.types import Schema
from apiserver.storage.interface import key_order
from apiserver.storage.postgres import PostgresStore
from apiserver.watch.entry import Entry
from tests.support.api import Api, serving
from tests.support.waiting import until

WIDGETS = GroupResource("toys.example", "widgets")
TIMES = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2027-01-01T00:00:00Z"]
PATHS = {
    "metadata.name": ("metadata", "name"),
    ".metadata.namespace": ("metadata", "namespace"),
    ".metadata.creationTimestamp": ("metadata", "creationTimestamp"),
    ".metadata.labels.app": ("metadata", "labels", "app"),
    r".metadata.labels.x\.y/z": ("metadata", "labels", "x.y/z"),
}
places = st.tuples(st.sampled_from(["", "a", "a-b", "b"]), st.sampled_from("xyz"))
labels = st.dictionaries(
    st.sampled_from(["app", "x.y/z", "creationTimestamp"]), st.sampled_from(["", "1", "2", "é"])
)
objects = st.dictionaries(
    places, st.tuples(st.none() | st.sampled_from(TIMES), st.none() | labels), max_size=12
)
keys = st.lists(
    st.tuples(st.sampled_from(["", "-", "^", "^-"]), st.sampled_from(sorted(PATHS))).map("".join),
    min_size=1,
    max_size=3,
)


def entry(place: tuple[str, str], created: str | None, labelled: dict[str, str] | None) -> Entry:
    """As the cache has it: with the version in front of all other metadata."""
    namespace, name = place
    metadata: dict[str, Any] = {"resourceVersion": "7", "name": name, "uid": "u", "generation": 1}
    metadata |= {"namespace": namespace} if namespace else {}
    metadata |= {"creationTimestamp": created} if created else {}
    metadata |= {"labels": labelled} if labelled is not None else {}
    text = orjson.dumps({"kind": "Widget", "apiVersion": "v1", "metadata": metadata})
    return Entry(WIDGETS, namespace, name, "u", 7, text, labelled or {}, {})


def brute_force(asked: list[str], entries: list[Entry]) -> list[Entry]:
    """As docs/questions.md says, one comparison after another."""

    def value(one: Entry, path: str) -> str | None:
        found: Any = one.object()
        for name in PATHS[path.lstrip("-^")]:
            found = (found or {}).get(name)
        return f"{found}/" if found and path.endswith("namespace") else found

    def compare(a: Entry, b: Entry) -> int:
        for path in asked:
            x, y = value(a, path), value(b, path)
            if (x is None) != (y is None):
                return (1 if x is None else -1) * (-1 if "^" in path else 1)
            if x is not None and y is not None and x != y:
                return (1 if x > y else -1) * (-1 if "-" in path else 1)
        p, q = key_order(a.namespace, a.name), key_order(b.namespace, b.name)
        return (p > q) - (p < q)

    return sorted(entries, key=cmp_to_key(compare))


def sorting(asked: list[str]) -> Sorting:
    def shown(state: Any) -> Any:
        raise AssertionError("was decoded")

    return Sorting(read(ListOptions(sort_by=tuple(asked)), Schema(type="object")).sort, shown)


@given(objects, keys, st.integers(0, 14), st.sampled_from([1, 4, 100]))
def test_a_beginning_is_that_of_the_order(
    held: dict[Any, Any], asked: list[str], count: int, sample: int
) -> None:
    entries = [entry(place, *held[place]) for place in sorted(held, key=lambda p: key_order(*p))]
    by = sorting(asked)
    assert is_known(by.keys)
    expected = brute_force(asked, entries)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(beginnings, "SAMPLE", sample)
        assert beginning(by, entries, count) == expected[:count]
    assert by.ordered(entries) == expected


@given(objects, st.sampled_from(sorted(PATHS)))
def test_a_glance_sees_what_the_path_leads_to(held: dict[Any, Any], path: str) -> None:
    dotted = path if path.startswith(".") else f".{path}"
    glance = glance_at(dotted)
    assert glance is not None
    for place, made in held.items():
        one = entry(place, *made)
        found = parse_path(dotted)(one.object())
        expected = found[0] if found else None
        if path == ".metadata.namespace" and expected:
            expected += "/"
        assert glance([one]) == [expected]


@pytest.mark.parametrize(
    "path",
    [
        *(".spec.replicas", ".metadata.labels", ".metadata.labels.*", ".metadata.labels.a.b"),
        *(".metadata.labels['app']", ".metadata.annotations.a", ".metadata..name", "..labels.app"),
    ],
)
def test_what_has_to_be_decoded_is_not_glanced_at(path: str) -> None:
    assert glance_at(path) is None


# --- over HTTP ------------------------------------------------------------------------------------
MAPS = "/api/v1/configmaps"


@pytest.fixture
async def api(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Api]:
    """Few objects are many."""
    monkeypatch.setattr(answers, "FEW", 0)
    monkeypatch.setattr(orders, "RUN", 2)
    async with serving(store, tenant) as made:
        for name, tier in {"a": "2", "b": "", "c": "1", "d": "2", "e": "1"}.items():
            metadata = {"name": name, "labels": {"tier": tier} if tier else {}}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            await made.ok("POST", "/api/v1/namespaces/ns/configmaps", body)
        yield made


async def ask(api: Api, **query: Any) -> tuple[str, Any]:
    found = await api.ok("GET", f"{MAPS}?{urlencode(query)}")
    return "".join(item["metadata"]["name"] for item in found["items"]), found["metadata"]


async def test_the_first_page_does_not_wait_for_the_order_and_the_next_goes_on_with_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, put = asyncio.Event(), answers._put_in_order

    async def waits(*arguments: Any) -> None:
        await made.wait()
        await put(*arguments)

    monkeypatch.setattr(answers, "_put_in_order", waits)
    query = {"sortBy": ".metadata.labels.tier", "limit": 2}
    for _ in range(2):
        page, metadata = await ask(api, **query)
        assert page == "ce"
        assert metadata["remainingItemCount"] == 3
    cache = api.registry.watches.peek(api.tenant.id, GroupResource("", "configmaps"))
    assert cache is not None
    (making,) = cache.memo.values()
    assert isinstance(making, orders.Making), "it is made once, by nobody in particular"
    made.set()
    assert (await ask(api, **query, **{"continue": metadata["continue"]}))[0] == "ad"
    await until(lambda: isinstance(next(iter(cache.memo.values())), orders.Order))
    assert (await ask(api, **query))[0] == "ce"


async def test_while_the_order_is_made_the_front_is_looked_for_once_and_follows_what_is_written(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, looked = asyncio.Event(), list[int]()

    async def waits(*arguments: Any) -> None:
        await made.wait()

    def seen(sorting: Sorting, entries: Any, count: int) -> Any:
        looked.append(count)
        return beginning(sorting, entries, count)

    monkeypatch.setattr(answers, "_put_in_order", waits)
    monkeypatch.setattr(answers, "beginning", seen)
    monkeypatch.setattr(answers, "FRONT", 3)
    monkeypatch.setattr(orders, "LOOKS", 0)
    query = {"sortBy": ".metadata.labels.tier", "limit": 2}
    assert (await ask(api, **query))[0] == "ce"
    await label(api, "d", "0")
    assert (await ask(api, **query))[0] == "dc"
    await label(api, "a", "3")
    await api.ok("DELETE", "/api/v1/namespaces/ns/configmaps/c")
    assert (await ask(api, **query))[0] == "de"
    assert looked == [3]
    await api.ok("DELETE", "/api/v1/namespaces/ns/configmaps/d")
    page, metadata = await ask(api, **query)
    assert (page, metadata["remainingItemCount"]) == ("ea", 1)
    assert looked == [3, 3], "too few of the front were left"


async def label(api: Api, name: str, tier: str) -> None:
    await api.patch(
        f"/api/v1/namespaces/ns/configmaps/{name}", {"metadata": {"labels": {"tier": tier}}}
    )


@pytest.mark.parametrize("down", ["", "-"])
async def test_the_front_by_a_label_is_looked_for_among_those_with_its_first_values(
    api: Api, monkeypatch: pytest.MonkeyPatch, down: str
) -> None:
    looked: list[int] = []

    def seen(sorting: Sorting, entries: Any, count: int) -> Any:
        looked.append(len(entries))
        return beginning(sorting, entries, count)

    monkeypatch.setattr(answers, "beginning", seen)
    monkeypatch.setattr(answers, "FRONT", 2)
    page, _ = await ask(api, sortBy=f"{down}.metadata.labels.tier", limit=2)
    assert (page, looked) == ("ad" if down else "ce", [2])


async def test_what_is_decoded_still_waits_for_its_order(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked(*_: Any) -> Any:
        raise AssertionError("these values are not known by a glance")

    monkeypatch.setattr(answers, "beginning", looked)
    assert (await ask(api, sortBy=".metadata.annotations.a", limit=2))[0] == "ab"


def test_a_time_inside_the_object_is_not_taken_for_its_own() -> None:
    inner = {"metadata": {"name": "x", "creationTimestamp": TIMES[2]}}
    metadata = {"name": "a", "annotations": {}, "creationTimestamp": TIMES[0]}
    whole = {"kind": "Widget", "apiVersion": "v1", "metadata": metadata, "spec": inner}
    glance = glance_at(".metadata.creationTimestamp")
    assert glance is not None
    one = Entry(WIDGETS, "", "a", "u", 7, orjson.dumps(whole), {}, {})
    assert glance([one]) == [TIMES[0]]
