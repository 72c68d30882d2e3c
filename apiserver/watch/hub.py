"""Who watches one resource of one tenant, and the sending of each change to those whom it concerns.

Watchers with the same namespace, name and selector form a group, so that a selector is evaluated
once for each change and the event is the same value for all of them. Groups are found by namespace
and name: a thousand watches of single objects cost a change of another nothing.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator

from apiserver.watch.entry import Change, Predicate
from apiserver.watch.subscription import Subscription


class Group:
    __slots__ = ("members", "predicate")

    def __init__(self, predicate: Predicate | None) -> None:
        self.predicate = predicate
        self.members: dict[Subscription, None] = {}


class Hub:
    def __init__(self) -> None:
        self._places: dict[tuple[str, str], dict[Hashable, Group]] = {}

    def __len__(self) -> int:
        return sum(1 for _ in self._all())

    def join(
        self,
        subscription: Subscription,
        namespace: str,
        name: str,
        predicate: Predicate | None,
        key: Hashable = None,
    ) -> None:
        """key: equal for predicates that decide alike; without one, predicates that are equal are
        taken for the same."""
        if key is None:
            key = predicate
        place = self._places.setdefault((namespace, name), {})
        group = place.get(key)
        if group is None:
            group = place[key] = Group(predicate)
        members = group.members
        members[subscription] = None

        def leave() -> None:
            members.pop(subscription, None)
            if not members and place.get(key) is group:
                del place[key]
                if not place and self._places.get((namespace, name)) is place:
                    del self._places[namespace, name]

        subscription.joined(leave)

    def send(self, change: Change) -> None:
        if not self._places:
            return
        namespace, name = change.new.namespace, change.new.name
        version = change.resource_version
        for place in dict.fromkeys((("", ""), (namespace, ""), ("", name), (namespace, name))):
            for group in tuple(self._places.get(place, {}).values()):
                event = change.seen(group.predicate)
                if event is None:
                    continue
                for subscription in tuple(group.members):
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
            for group in groups.values():
                yield from group.members
