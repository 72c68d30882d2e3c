"""Reading watches in tests."""

from __future__ import annotations

from dataclasses import dataclass

from apiserver.watch.entry import Fields, Labels, WatchEvent
from apiserver.watch.subscription import Subscription
from tests.support.waiting import PATIENCE


@dataclass(frozen=True)
class Label:
    """A label selector as a value: equal ones are one group."""

    name: str
    value: str

    def __call__(self, labels: Labels, fields: Fields) -> bool:
        return labels.get(self.name) == self.value


async def read(subscription: Subscription, count: int) -> list[WatchEvent]:
    """At least ``count`` events; fails when they do not come."""
    events: list[WatchEvent] = []
    while len(events) < count:
        synced = subscription.synced
        batch = await subscription.next(PATIENCE)
        assert batch or not synced, f"only {short(events)} came"
        events += batch
    return events


async def nothing(subscription: Subscription, seconds: float = 0.15) -> None:
    while not subscription.synced:
        assert await subscription.next() == []
    assert await subscription.next(seconds) == []


def short(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.entry.name) for event in events]
