"""The chain: who runs when, and once more."""

from __future__ import annotations

from typing import Any

from admission.attributes import Attributes, Lookup
from admission.chain import Chain
from tests.admission.test_rules import NOBODY, request


class Counting:
    """Counts its runs in the object; asks for another round in the first ``asks`` ones."""

    name = "Counting"

    def __init__(self, asks: int = 0) -> None:
        self.asks = asks
        self.seen: list[tuple[bool, Any]] = []

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation == "CREATE"

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        assert attributes.object is not None
        again = attributes.reinvocation
        self.seen.append((again.again, again.values.get(self.name)))
        again.values[self.name] = len(self.seen)
        again.requested = again.requested or len(self.seen) <= self.asks


async def test_plugins_run_once() -> None:
    plugin = Counting()
    await Chain([plugin]).admit(request(), NOBODY)
    assert plugin.seen == [(False, None)]


async def test_all_plugins_run_again_when_one_asks_for_it_and_no_third_time() -> None:
    first, second = Counting(), Counting(asks=2)
    await Chain([first, second]).admit(request(), NOBODY)
    assert [again for again, _ in first.seen] == [False, True]
    assert [again for again, _ in second.seen] == [False, True]
    assert second.seen[1][1] is not None  # it finds what it kept


async def test_another_run_begins_anew() -> None:
    plugin, attributes = Counting(asks=1), request()
    chain = Chain([plugin])
    await chain.admit(attributes, NOBODY)
    await chain.admit(attributes, NOBODY)
    assert [again for again, _ in plugin.seen] == [False, True, False]


async def test_who_is_concerned_is_asked_once_for_each_sort_of_requests() -> None:
    plugin, asked = Counting(), list[str]()
    handles = plugin.handles

    def asking(attributes: Attributes) -> bool:
        asked.append(attributes.operation)
        return handles(attributes)

    plugin.handles = asking  # type: ignore[method-assign]
    chain = Chain([plugin])
    for operation in ("CREATE", "UPDATE", "CREATE", "UPDATE"):
        await chain.admit(request(operation=operation), NOBODY)
    assert (len(plugin.seen), asked) == (2, ["CREATE", "UPDATE"])


def test_what_is_told_twice_is_kept_once() -> None:
    attributes = request()
    for _ in range(2):
        attributes.warn("mind the gap")
    attributes.annotate("p/key", "first")
    attributes.annotate("p/key", "second")
    assert (attributes.warnings, attributes.audit) == (["mind the gap"], {"p/key": "first"})
