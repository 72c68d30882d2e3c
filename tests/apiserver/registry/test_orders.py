"""Orders that are kept: brought to another state, they are what sorting that state anew gives."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import cmp_to_key
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.errors import TimedOut
from apiserver.kinds.served import Resource
from apiserver.registry import answers, orders
from apiserver.registry.options import ListOptions
from apiserver.registry.orders import Order, Sorting
from apiserver.registry.questions import read
from apiserver.schema.types import Schema
from apiserver.storage.interface import key_order
from apiserver.storage.postgres import PostgresStore
from apiserver.watch import cache as caches
from apiserver.watch.cache import Cache, Entries
from apiserver.watch.entry import Entry
from tests.support.api import Api, serving
from tests.support.cachelog import CacheLog

RESOURCE: Any = object()
ABSENT: Any = object()

values = st.sampled_from(
    [ABSENT, None, True, False, 0, 1, 9, 10, -1.5, 1.0, "", "10", "9", "é", [], {}]
)
places = st.tuples(st.sampled_from(["a", "a-b", "b"]), st.sampled_from(["x", "x-", "y", "z"]))
writes = st.tuples(places, st.booleans(), st.tuples(values, values))
"""(namespace and name, whether it is deleted, spec.one and spec.two)."""
sort_keys = st.lists(
    st.sampled_from(
        [
            *(".spec.one", "-.spec.one", "^.spec.one", "^-.spec.one"),
            *("-.spec.two", "-^spec.two", "-.metadata.name", "metadata.namespace"),
        ]
    ),
    min_size=1,
    max_size=3,
)


class Log(CacheLog):
    def put(self, cache: Cache, place: tuple[str, str], deleted: bool, pair: Any) -> None:
        """pair: spec.one and spec.two."""
        named = zip(("one", "two"), pair, strict=True)
        self.write(cache, place, deleted, {n: v for n, v in named if v is not ABSENT})


def put(history: list[Any]) -> Cache:
    log = Log()
    cache = log.cache()
    for write in history:
        log.put(cache, *write)
    return cache


def state(cache: Cache, at: int, namespace: str) -> Entries:
    found = cache.state_at(at, namespace)
    assert found is not None
    return found


def sorting(keys: list[str]) -> Sorting:
    question = read(ListOptions(sort_by=tuple(keys)), Schema(type="object"))
    return Sorting(question.sort, lambda state: orjson.loads(state.json))


def brute_force(keys: list[str], entries: Any) -> list[Any]:
    """As docs/questions.md says, one comparison after another."""

    def value(entry: Entry, path: str) -> Any:
        found: Any = entry.object()
        for name in path.lstrip("-^.").split("."):
            found = found.get(name)
        if path.endswith(".namespace"):
            found += "/"  # as key_order has it
        kinds = {bool: 0, int: 1, float: 1, str: 2}
        return (kinds[type(found)], found) if type(found) in kinds else None

    def compare(a: Entry, b: Entry) -> int:
        for path in keys:
            x, y = value(a, path), value(b, path)
            if x is None or y is None:
                if (x is None) != (y is None):
                    return (1 if x is None else -1) * (-1 if "^" in path else 1)
            elif x != y:
                return (1 if x > y else -1) * (-1 if "-" in path else 1)
        x, y = key_order(a.namespace, a.name), key_order(b.namespace, b.name)
        return (x > y) - (x < y)

    return sorted(entries, key=cmp_to_key(compare))


@given(st.lists(writes, max_size=30), st.data(), sort_keys, st.sampled_from(["", "a"]))
def test_an_order_moved_to_another_state_is_that_state_sorted(
    history: list[Any], data: st.DataObject, keys: list[str], namespace: str
) -> None:
    cache = put(history)
    by, versions = sorting(keys), st.integers(0, cache.resource_version)
    kept_at, wanted = data.draw(versions), data.draw(versions)
    old, new = state(cache, kept_at, namespace), state(cache, wanted, namespace)
    orders.keep(cache, ("n",), Order(RESOURCE, kept_at, by.ordered(old)))
    near = orders.find(cache, ("n",), RESOURCE, wanted, namespace)
    assert near is not None
    moved = [e.json for e in by.moved(near.order.items, near.steps)]
    assert moved == [e.json for e in by.ordered(new)]
    assert moved == [e.json for e in brute_force(keys, new)]


@given(
    st.lists(writes, max_size=30),
    st.data(),
    sort_keys,
    st.sampled_from(["", "a"]),
    st.integers(1, 5),
)
def test_of_a_beginning_what_is_known_is_the_beginning_of_a_later_state(
    history: list[Any], data: st.DataObject, keys: list[str], namespace: str, count: int
) -> None:
    cache = put(history)
    by, versions = sorting(keys), st.integers(0, cache.resource_version)
    found_at, wanted = data.draw(versions), data.draw(versions)
    old, new = state(cache, found_at, namespace), state(cache, wanted, namespace)
    front = Order(RESOURCE, found_at, by.ordered(old)[:count])
    near = orders.led(cache, front, wanted, namespace)
    assert near is not None
    moved = [e.json for e in by.moved(near.order.items, near.steps, whole=False)]
    assert moved == [e.json for e in by.ordered(new)][: len(moved)]
    gone = sum(old is not None for old, _ in near.steps)
    assert len(moved) >= min(count, len(old)) - gone, "one goes for each that is gone or changed"


@given(st.lists(writes, max_size=30), st.sampled_from(["", "-"]))
def test_an_order_has_a_reverse(history: list[Any], down: str) -> None:
    """Also of objects without a value, and of equal ones."""
    cache = put(history)
    up = "" if down else "-"
    there = sorting([f"{down}.spec.one"]).ordered(cache.select())
    back = sorting([f"^{up}.spec.one", "-.metadata.namespace", "-.metadata.name"])
    assert back.ordered(cache.select()) == there[::-1]


@given(st.lists(st.tuples(values, values), max_size=40), sort_keys)
def test_runs_are_merged_into_one_order(specs: list[Any], keys: list[str]) -> None:
    log = Log()
    cache = log.cache()
    for i, spec in enumerate(specs):
        log.put(cache, ("a", f"n{i}"), False, spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(orders, "RUN", 3)
        found = sorting(keys).ordered(cache.select())
    assert found == brute_force(keys, cache.select())


@given(
    st.lists(st.tuples(values, values), max_size=40),
    sort_keys,
    st.sets(st.integers(0, 40), max_size=5),
    st.sampled_from([0.0, 2.5]),
)
def test_an_order_is_made_in_pieces_of_which_any_may_be_ended(
    specs: list[Any], keys: list[str], ended: set[int], piece: float
) -> None:
    log = Log()
    cache = log.cache()
    for i, spec in enumerate(specs):
        log.put(cache, ("a", f"n{i}"), False, spec)
    clock, order, pieces = itertools.count(), None, 0

    def ticks() -> float:
        at = next(clock)
        if at in ended:
            raise TimedOut("nobody waits for it any more")
        return at

    def in_order(*args: Any, **kwargs: Any) -> list[Any]:
        ticks()
        return sorted(*args, **kwargs)

    making = orders.Making(RESOURCE, cache.resource_version, cache.select())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(orders, "RUN", 3)
        patched.setattr(orders, "PIECE", piece)
        patched.setattr(orders, "thread_time", ticks)
        patched.setattr(orders, "sorted", in_order, raising=False)
        while order is None:
            pieces += 1
            with suppress(TimedOut):
                order = making.go_on(sorting(keys))
    assert (order.at, order.items) == (making.at, brute_force(keys, cache.select()))
    assert piece or pieces > len(specs) / 3 + 2 * len(keys), "two looks at each column, and a run"


def test_names_are_known_without_decoding() -> None:
    log = Log()
    cache = log.cache()
    for name in "xyz":
        log.put(cache, ("a", name), False, (1, 1))

    def shown(state: Any) -> Any:
        raise AssertionError("was decoded")

    by = Sorting(sorting(["-metadata.name", ".metadata.namespace"]).keys, shown)
    found = by.ordered(cache.select())
    assert [state.key.name for state in found] == ["z", "y", "x"]


def test_an_order_goes_with_the_window_and_with_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    cache = log.cache()
    log.put(cache, ("a", "x"), False, (1, 1))
    order = Order(RESOURCE, cache.resource_version, list(cache.select()))
    orders.keep(cache, ("n",), order)
    other: Resource = Any  # type: ignore[assignment]
    assert orders.find(cache, ("n",), other, order.at, "") is None
    assert orders.find(cache, ("m",), RESOURCE, order.at, "") is None
    log.put(cache, ("a", "x"), False, (2, 2))
    assert orders.find(cache, ("n",), RESOURCE, cache.resource_version, "") is not None
    monkeypatch.setattr(caches, "WINDOW_SECONDS", -1.0)
    cache.forget_old()
    assert orders.find(cache, ("n",), RESOURCE, cache.resource_version, "") is None
    assert not cache.memo, "what is of no use is not held"


def test_a_few_orders_are_kept_and_the_later_state_of_each() -> None:
    cache = Log().cache()
    for i in range(orders.MOST + 1):
        orders.keep(cache, (i,), Order(RESOURCE, 5, []))
    assert set(cache.memo) == {(i,) for i in range(1, orders.MOST + 1)}
    orders.keep(cache, (1,), Order(RESOURCE, 4, []))
    assert cache.memo[(1,)].at == 5
    orders.keep(cache, (9,), Order(RESOURCE, 5, []))
    assert (1,) in cache.memo, "it was asked for last"


# --- over HTTP ------------------------------------------------------------------------------------
MAPS = "/api/v1/namespaces/ns/configmaps"
SIZES = {"a": "30", "b": "4", "c": "100", "d": "", "e": "4"}


@pytest.fixture
async def api(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Api]:
    """Keeps orders of few objects, too."""
    monkeypatch.setattr(answers, "FEW", 0)
    monkeypatch.setattr(orders, "LOOKS", 0)
    async with serving(store, tenant) as made:
        for name, size in SIZES.items():
            await made.ok("POST", MAPS, config_map(name, size))
        yield made


def config_map(name: str, size: str) -> Any:
    metadata = {"name": name, "labels": {"half": str(name < "c")}}
    data = {"size": size} if size else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def ask(api: Api, **query: Any) -> tuple[str, str]:
    """(names, token)."""
    found = await api.ok("GET", f"{MAPS}?{urlencode(query)}")
    names = "".join(item["metadata"]["name"] for item in found["items"])
    return names, found["metadata"].get("continue", "")


async def test_what_was_put_in_order_once_is_not_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"sortBy": "-.data.size"}
    assert (await ask(api, **query))[0] == "beacd"

    def again(*_: Any) -> Any:
        raise AssertionError("sorted anew")

    monkeypatch.setattr(Sorting, "ordered", again)
    assert (await ask(api, **query))[0] == "beacd"
    page, token = await ask(api, **query, limit=2)
    assert page == "be"
    await api.ok("POST", MAPS, config_map("f", "9"))
    await api.ok("DELETE", f"{MAPS}/e")
    await api.patch(f"{MAPS}/c", {"data": {"size": "31"}})
    assert (await ask(api, **query))[0] == "fbcad"
    assert (await ask(api, **query, limit=2, **{"continue": token}))[0] == "ac"
    assert (await ask(api, **query, labelSelector="half=True"))[0] == "ba"
    assert (await ask(api, **query, filter="self.data.size > '30'"))[0] == "fbc"


async def test_a_long_list_is_put_in_order_in_pieces_that_no_request_has_to_do_alone(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "RUN", 2)
    pieces: list[str] = []
    ranks = Sorting.ranks

    def seen(self: Sorting, states: Any) -> Any:
        pieces.append("".join(state.key.name for state in states))
        return ranks(self, states)

    monkeypatch.setattr(Sorting, "ranks", seen)
    monkeypatch.setattr(answers, "PATIENCE", -1.0)
    query = urlencode({"sortBy": "-.data.size"})
    for done in (2, 4, 5):
        status, refused = await api("GET", f"{MAPS}?{query}")
        assert status == 504 and f"{done} of 5 objects are done" in refused["message"]
    await api.ok("POST", MAPS, config_map("f", "9"))
    monkeypatch.setattr(answers, "PATIENCE", 60.0)
    monkeypatch.setattr(orders, "LOOKS", 1)
    asked = [ask(api, sortBy="-.data.size") for _ in range(3)]
    assert [names for names, _ in await asyncio.gather(*asked)] == ["fbeacd"] * 3
    assert pieces == ["ab", "cd", "e"], "each once, whoever asks"


async def test_what_a_client_leaves_half_done_is_gone_on_with(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "RUN", 2)
    pieces = 0
    done = answers.beside

    async def breaks(asker: Any, work: Any) -> Any:
        nonlocal pieces
        pieces += 1
        if pieces == 2:
            raise TimedOut("its client has gone")
        return await done(asker, work)

    monkeypatch.setattr(answers, "beside", breaks)
    assert (await api("GET", f"{MAPS}?sortBy=.data.size"))[0] == 504
    assert (await ask(api, sortBy=".data.size"))[0] == "cabed"
    assert pieces == 5, "two more of objects, and the order"


async def test_a_selection_is_no_reason_to_put_all_in_order(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    ordered = Sorting.ordered

    def counted(self: Sorting, states: Any) -> Any:
        sizes.append(len(states))
        return ordered(self, states)

    monkeypatch.setattr(Sorting, "ordered", counted)
    assert (await ask(api, sortBy=".data.size", labelSelector="half=True"))[0] == "ab"
    assert sizes == [2]


async def test_a_count_decodes_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def decoded(*_: Any) -> Any:
        raise AssertionError("was decoded")

    monkeypatch.setattr(answers, "shown", decoded)
    found = await api.ok("GET", f"{MAPS}?count=only")
    assert found["metadata"]["remainingItemCount"] == len(SIZES)


async def test_a_forged_place_in_a_kept_order_is_refused(api: Api) -> None:
    """Tokens without a signature are read (`apiserver.registry.continuation`)."""
    query = {"sortBy": ".data.size", "limit": 2}
    _, token = await ask(api, **query)
    held = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    del held["sig"]
    held["start"] = "nobody\0"
    forged = base64.urlsafe_b64encode(orjson.dumps(held)).decode().rstrip("=")
    status, refused = await api("GET", f"{MAPS}?{urlencode({**query, 'continue': forged})}")
    assert (status, "its object is not in the list" in refused["message"]) == (400, True)
