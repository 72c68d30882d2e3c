"""How often controllers may tell the same, or nearly the same (client-go ``tools/record``, its
correlator of events). No I/O; what is remembered is this process's.

What differs only in its message is told in one Event, once there are many messages; what tells of
an object always anew is told ever more rarely.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

MESSAGES, INTERVAL = 10, 600.0
"""The messages of one reason from which on they become one Event, unless so many seconds pass
without any."""
BURST, REFILL = 25, 300.0
"""Events of a source about an object of one type; seconds until there may be one more."""
_KNOWN = 4096
_COMBINED = "(combined from similar events): "


class Regarding(NamedTuple):
    """The object that an Event is about. namespace: "" for none; resource_version: in which it was
    seen, "" where that is not told."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""


class Said(NamedTuple):
    """type: ``Normal`` or ``Warning``."""

    type: str
    reason: str
    message: str


class Telling(NamedTuple):
    """What is to be written. identity: of the Event, the same for the same thing."""

    message: str
    identity: tuple[str, ...]


class Correlator:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._messages = _Recent[_Messages]()
        self._budgets = _Recent[_Budget]()

    def correlate(
        self, tenant: int, source: str, regarding: Regarding, said: Said
    ) -> Telling | None:
        """None: it has been told often enough. source: the component."""
        about = (source, *regarding[:5], said.type)
        messages = self._messages.of((str(tenant), *about, said.reason), _Messages)
        many = messages.many(said.message, self._clock())
        if not self._budgets.of((str(tenant), *about), _Budget).spend(self._clock()):
            return None
        if many:
            return Telling(_COMBINED + said.message, (*about, said.reason))
        return Telling(said.message, (*about, said.reason, said.message))


@dataclass
class _Messages:
    last: float = 0.0
    seen: set[str] = field(default_factory=set)

    def many(self, message: str, now: float) -> bool:
        if now - self.last > INTERVAL:
            self.seen.clear()
        self.last = now
        if len(self.seen) < MESSAGES:
            self.seen.add(message)
        return len(self.seen) >= MESSAGES


@dataclass
class _Budget:
    left: float = BURST
    at: float | None = None

    def spend(self, now: float) -> bool:
        if self.at is not None:
            self.left = min(self.left + (now - self.at) / REFILL, BURST)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class _Recent(Generic[T]):
    """The values that were asked for last."""

    def __init__(self) -> None:
        self._values: OrderedDict[tuple[str, ...], T] = OrderedDict()

    def of(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        value = self._values.pop(key, None)
        self._values[key] = value = make() if value is None else value
        if len(self._values) > _KNOWN:
            self._values.popitem(last=False)
        return value
