"""The chain: who runs when, and once more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from admission.attributes import Attributes, Lookup
from admission.chain import Chain, Took
from apiserver.errors import BadRequest
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


class Told:
    """What it was told, but for the seconds."""

    def __init__(self) -> None:
        self.tenants: set[int] = set()
        self.took: list[tuple[str, str, str, bool]] = []

    def of(self, tenant: int) -> Took:
        self.tenants.add(tenant)

        def took(name: str, step: str, operation: str, rejected: bool, seconds: float) -> None:
            assert seconds >= 0
            self.took.append((name, step, operation, rejected))

        return took


class Checking:
    name = "Checking"

    def __init__(self, failure: BaseException | None = None) -> None:
        self.failure = failure

    def handles(self, attributes: Attributes) -> bool:
        return True

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        if self.failure is not None:
            raise self.failure


async def test_each_plugin_is_counted_and_the_step_as_a_whole() -> None:
    told = Told()
    chain = Chain([Counting(asks=1), Checking()], told.of)
    await chain.admit(request(), NOBODY)
    await chain.validate(request(), NOBODY)
    assert told.took == [
        ("Counting", "admit", "CREATE", False),
        ("Counting", "admit", "CREATE", False),
        ("", "admit", "CREATE", False),
        ("Checking", "validate", "CREATE", False),
        ("", "validate", "CREATE", False),
    ], "a plugin that runs again is counted again, its step once"
    assert told.tenants == {request().tenant}


@pytest.mark.parametrize("failure", [BadRequest("no"), RuntimeError(), asyncio.CancelledError()])
async def test_who_refuses_or_fails_is_counted_so(failure: BaseException) -> None:
    told = Told()
    chain = Chain([Checking(failure), Checking()], told.of)
    with pytest.raises(type(failure)):
        await chain.validate(request(operation="UPDATE"), NOBODY)
    assert told.took == [
        ("Checking", "validate", "UPDATE", True),
        ("", "validate", "UPDATE", True),
    ], "who was not asked is not counted"


async def test_who_is_not_concerned_is_not_counted() -> None:
    told = Told()
    await Chain([Counting()], told.of).admit(request(operation="DELETE"), NOBODY)
    assert told.took == [("", "admit", "DELETE", False)]
