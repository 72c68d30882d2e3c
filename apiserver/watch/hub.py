"""Who watches one resource of one tenant, and the sending of each change to those whom it concerns.

Watchers with the same namespace, name and selector form a group, so that a selector is evaluated once for each change and the event is the
same value for all of them. Groups are found by namespace and name: a thousand watches of single objects cost a change of another nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from apiserver.watch.entry import Change, Predicate
from apiserver.watch.subscription import Subscription

_Place = tuple[str, str]
_Groups = dict[Predicate | None, dict[Subscription, None]]


class Hub:
    def __init__(self) -> None:
        self._places: dict[_Place, _Groups] = {}

    def __len__(self) -> int:
        return sum(1 for _ in self._all())

    def join(self, subscription: Subscription, namespace: str, name: str, predicate: Predicate | None) -> None:
        """Predicates that are equal (==, hash) are taken for the same."""
        groups = self._places.setdefault((namespace, name), {})
        groups.setdefault(predicate, {})[subscription] = None

        def leave() -> None:
            members = groups.get(predicate)
            if members is None or subscription not in members:
                return
            del members[subscription]
            if not members:
                del groups[predicate]
                if not groups and self._places.get((namespace, name)) is groups:
                    del self._places[namespace, name]

        subscription.joined(leave)

    def send(self, change: Change) -> None:
        namespace, name = change.new.namespace, change.new.name
        version = change.resource_version
        for place in dict.fromkeys((("", ""), (namespace, ""), ("", name), (namespace, name))):
            for predicate, members in tuple(self._places.get(place, {}).items()):
                event = change.seen(predicate)
                if event is None:
                    continue
                for subscription in tuple(members):
                    if version > subscription.after:
                        subscription.push(event)

    def check_stalls(self) -> None:
        now = time.monotonic()
        for subscription in tuple(self._all()):
            subscription.check_stall(now)

    def close(self, error: Exception) -> None:
        for subscription in tuple(self._all()):
            subscription.close(error)

    def _all(self) -> Iterator[Subscription]:
        for groups in self._places.values():
            for members in groups.values():
                yield from members
