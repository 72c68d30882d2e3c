"""What the controllers put off: what is looked at together a moment later, and what is left alone
for longer each time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from apiserver.storage.interface import Record

T = TypeVar("T")

_OWNERS = b'"ownerReferences":['


@dataclass
class Batches(Generic[T]):
    """What has come up in each tenant, by uid. age: seconds that it waits at least; `retry` takes
    back what was taken and could not be done."""

    _young: dict[int, dict[str, tuple[float, T]]] = field(default_factory=dict)
    _again: dict[int, dict[str, T]] = field(default_factory=dict)

    def add(self, tenant: int, uid: str, value: T) -> None:
        self._young.setdefault(tenant, {})[uid] = (time.monotonic(), value)

    def retry(self, tenant: int, values: dict[str, T]) -> None:
        self._again[tenant] = values

    def give_up(self, tenant: int) -> None:
        """Forgets what was to be tried again."""
        self._again.pop(tenant, None)

    def waits(self, tenant: int) -> bool:
        return tenant in self._young

    def take(self, tenant: int, age: float) -> dict[str, T]:
        """Takes out what is old enough."""
        ripe, taken = time.monotonic() - age, self._again.pop(tenant, {})
        young: dict[str, tuple[float, T]] = {}
        for uid, (at, value) in self._young.pop(tenant, {}).items():
            if at > ripe:
                young[uid] = (at, value)
            else:
                taken[uid] = value
        if young:
            self._young[tenant] = young
        return taken


class SeenReferences:
    """Whose owner references have been seen: most writes of an owned object change none of them."""

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._seen: OrderedDict[str, int] = OrderedDict()

    def new(self, record: Record) -> bool:
        """Whether the object has owner references that it did not have when it was seen last."""
        start = record.data.find(_OWNERS)
        if start < 0:
            return False
        digest = hash(record.data[start : record.data.find(b"]", start)])
        before = self._seen.pop(record.uid, None)
        self._seen[record.uid] = digest
        if len(self._seen) > self._size:
            self._seen.popitem(last=False)
        return digest != before


class Backoff:
    """Leaves alone what cannot be done: for ``first`` seconds, then twice as long each time, up to
    ``most`` (the rate limiter of kube-controller-manager's queues ends at 1,000 s)."""

    def __init__(self, first: float = 30.0, most: float = 1000.0) -> None:
        self._first, self._most = first, most
        self._until: dict[str, tuple[float, float]] = {}

    def ready(self, uids: Iterable[str]) -> list[str]:
        now = time.monotonic()
        return [uid for uid in uids if self._until.get(uid, (0.0, 0.0))[0] <= now]

    def failed(self, uids: Iterable[str]) -> None:
        now = time.monotonic()
        for uid in uids:
            pause = min(2 * self._until.get(uid, (0.0, self._first / 2))[1], self._most)
            self._until[uid] = (now + pause, pause)

    def keep(self, uids: set[str]) -> None:
        """Forgets all but ``uids``."""
        self._until = {uid: at for uid, at in self._until.items() if uid in uids}
