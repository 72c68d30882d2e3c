"""How often the same is told, by a clock of the test's own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from apiserver.controllers.correlation import Correlator, Regarding, Said, Telling

ONE = Regarding("v1", "ConfigMap", "ns", "one", "uid", "7")
SAID = Said("Warning", "Odd", "it is odd")


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now=1000.0)


@pytest.fixture
def correlator(clock: SimpleNamespace) -> Correlator:
    return Correlator(lambda: clock.now)


def told(correlator: Correlator, said: Said = SAID, about: Regarding = ONE) -> Telling | None:
    return correlator.correlate(1, "test-controller", about, said)


def test_the_same_is_one_event_and_anything_else_another(correlator: Correlator) -> None:
    first = told(correlator)
    assert first is not None and first.message == "it is odd"
    assert told(correlator, about=ONE._replace(resource_version="8")) == first
    others = [
        told(correlator, SAID._replace(message="it is even")),
        told(correlator, SAID._replace(reason="Even")),
        told(correlator, SAID._replace(type="Normal")),
        told(correlator, about=ONE._replace(uid="another")),
        told(correlator, about=ONE._replace(name="two")),
        correlator.correlate(1, "another", ONE, SAID),
    ]
    identities = [first.identity, *(other.identity for other in others if other is not None)]
    assert len(set(identities)) == 7


def test_an_object_is_told_of_ever_more_rarely(
    correlator: Correlator, clock: SimpleNamespace
) -> None:
    assert None not in [told(correlator) for _ in range(25)]
    assert told(correlator) is None
    assert told(correlator, SAID._replace(reason="Even")) is None
    assert told(correlator, about=ONE._replace(uid="another")) is not None
    assert told(correlator, SAID._replace(type="Normal")) is not None
    assert correlator.correlate(2, "test-controller", ONE, SAID) is not None
    clock.now += 299
    assert told(correlator) is None
    clock.now += 1
    assert told(correlator) is not None
    assert told(correlator) is None
    clock.now += 3600 * 24
    assert len([None for _ in range(30) if told(correlator) is not None]) == 25


def test_many_messages_become_one_event(correlator: Correlator, clock: SimpleNamespace) -> None:
    def say(number: int) -> Telling:
        telling = told(correlator, SAID._replace(message=f"number {number}"))
        assert telling is not None
        return telling

    single = [say(number) for number in range(9)]
    assert [telling.message for telling in single] == [f"number {n}" for n in range(9)]
    combined = say(9)
    assert combined.message == "(combined from similar events): number 9"
    clock.now += 600
    again = say(10)
    assert again.identity == combined.identity
    assert again.message == "(combined from similar events): number 10"
    clock.now += 601
    assert say(11).message == "number 11"


def test_the_same_message_is_not_many(correlator: Correlator) -> None:
    assert {told(correlator) for _ in range(20)} == {told(correlator)}
