"""What is known by labels is what looking at all objects says, at every version of the window."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver.watch.cache import Cache
from apiserver.watch.entry import Entry
from apiserver.watch.labelled import Demand, Labelled
from tests.support.cachelog import CacheLog

MANY = 1000

places = st.tuples(st.sampled_from(["a", "a-b", "b"]), st.sampled_from(["x", "x-", "y"]))
values = st.sampled_from(["", "1", "2", "10"])
labels = st.dictionaries(st.sampled_from(["app", "tier"]), values)
writes = st.lists(st.tuples(places, st.booleans(), labels), max_size=25)
"""(namespace and name, whether it is deleted, its labels)."""
demands = st.lists(
    st.builds(Demand, st.sampled_from(["app", "tier", "none"]), st.lists(values, min_size=1)),
    min_size=1,
    max_size=2,
)
namespaces = st.sampled_from(["", "a", "b", "nowhere"])


def written(log: CacheLog, history: Any) -> Cache:
    cache = log.cache()
    for place, deleted, labelled in history:
        log.write(cache, place, deleted, labels=labelled)
    return cache


@given(writes, demands, namespaces, st.data())
def test_those_that_fulfil_a_demand(
    history: Any, asked: list[Demand], namespace: str, data: st.DataObject
) -> None:
    log = CacheLog()
    cache = written(log, history)
    at = data.draw(st.integers(0, log.position))
    everything = cache.state_at(at, namespace)
    found = cache.having(asked, at, namespace, MANY)
    assert everything is not None and found is not None
    fulfilling = [[e for e in everything if e.labels.get(d.key) in d.values] for d in asked]
    assert list(found) in fulfilling
    if at == log.position:
        fewest = min(map(len, fulfilling))
        assert len(found) == fewest
        assert cache.having(asked, at, namespace, fewest) == found
        assert fewest == 0 or cache.having(asked, at, namespace, fewest - 1) is None


def test_who_demands_nothing_or_what_is_forgotten_is_told_nothing() -> None:
    log = CacheLog()
    cache = written(log, [(("a", "x"), False, {"app": "1"})])
    assert cache.having([], 1, "", MANY) is None
    cache.loaded(1)
    assert cache.having([Demand("app", ["1"])], 0, "", MANY) is None
    assert cache.having([Demand("app", ["1"])], 1, "", MANY) == cache.select()


@given(writes, st.sampled_from(["app", "tier"]), namespaces, st.integers(1, 4), st.booleans())
def test_the_foremost_have_the_first_values(
    history: Any, label: str, namespace: str, count: int, descending: bool
) -> None:
    cache = written(CacheLog(), history)
    valued = [e for e in cache.select(namespace) if label in e.labels]
    ordered = sorted(valued, key=lambda e: e.labels[label], reverse=descending)
    found = cache.foremost(label, count, namespace, MANY, descending=descending)
    if len(valued) < count:
        assert found is None
        return
    assert found is not None
    last = ordered[count - 1].labels[label]
    front = [
        e for e in valued if (e.labels[label] >= last if descending else e.labels[label] <= last)
    ]
    assert list(found) == front
    assert cache.foremost(label, count, namespace, 0, descending=descending) is None


@given(writes)
def test_nothing_is_kept_of_what_is_gone(history: Any) -> None:
    cache = written(CacheLog(), history)
    for label in ("app", "tier"):
        known = {
            value: [e for e in cache.select() if e.labels.get(label) == value]
            for value in {e.labels[label] for e in cache.select() if label in e.labels}
        }
        orders = cache.labelled.values(label)
        assert {v: len(o) for v, o in orders.items()} == {v: len(e) for v, e in known.items()}


def test_objects_that_are_labelled_alike_share_their_labels() -> None:
    cache = written(CacheLog(), [(("a", name), False, {"app": "1"}) for name in "xyz"])
    first, *others = cache.select()
    assert all(entry.labels is first.labels for entry in others)
    assert isinstance(first, Entry) and first.labels == {"app": "1"}


def test_few_sets_are_known_for_being_shared(monkeypatch: Any) -> None:
    monkeypatch.setattr("apiserver.watch.labelled.SETS", 2)
    known = Labelled()
    for number in range(5):
        assert known.add({"n": str(number)}, ("", str(number))) == {"n": str(number)}
    assert len(known._sets) <= 2
    assert len(known.values("n")) == 5
