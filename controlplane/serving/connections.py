"""The open connections of one worker: counted, bounded, and ended when they take too long.

Nothing is timed one by one: protocols note on what they wait and since when (`Connections.now`,
which moves once a second), and one sweep a second looks at them all, which costs a request two
assignments and an idle connection 0.2 µs a second.
"""

from __future__ import annotations

import heapq
import ipaddress
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from controlplane.serving.limits import Limits

_AT_ONCE = 64
"""One in so many connections makes room when all places are taken, so that a flood pays for a look
at all of them only now and then."""


class Conversation(Protocol):
    """What speaks on a connection: HTTP or WebSocket."""

    def overdue(self, now: float) -> bool:
        """Whether the client has had its time."""

    def patience(self) -> tuple[bool, float] | None:
        """How far down the list of those that make room: first who never got an answer, among them
        who waits longest; None while a request is being served."""


def _nothing() -> None:
    return None


class Seat:
    """The place of one connection, from accept to close. since: in seconds of `Connections.now`;
    end: closes the connection at once; conversation: None until TLS is spoken; number: of the
    connection, in the order in which they came; tenant: whose port it came to, "" for that of
    all."""

    __slots__ = ("address", "conversation", "end", "number", "since", "tenant")

    def __init__(self, address: str, since: float, number: int) -> None:
        self.address, self.since, self.number = address, since, number
        self.end: Callable[[], None] = _nothing
        self.conversation: Conversation | None = None
        self.tenant = ""

    def patience(self) -> tuple[bool, float] | None:
        return (False, self.since) if self.conversation is None else self.conversation.patience()


class Connections:
    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits, self._clock = limits, clock
        self.now = clock()
        self.refused = self._admitted = 0
        self._seats: set[Seat] = set()
        self._of: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._seats)

    def admit(self, host: str) -> Seat | None:
        """A place for a connection from ``host`` (an IP address), made by ending whoever waits
        longest for nothing where all are taken; None when every connection is at work."""
        address = client_address(host)
        if self._of[address] >= self.limits.per_address and not self._make_room(address):
            self.refused += 1
            return None
        if len(self._seats) >= self.limits.connections and not self._make_room():
            self.refused += 1
            return None
        self._admitted += 1
        seat = Seat(address, self.now, self._admitted)
        self._seats.add(seat)
        self._of[address] += 1
        return seat

    def leave(self, seat: Seat) -> None:
        """Harmless when repeated."""
        if seat in self._seats:
            self._seats.remove(seat)
            self._of[seat.address] -= 1
            if not self._of[seat.address]:
                del self._of[seat.address]

    def make_room(self) -> None:
        """Ends some idle connections, because the system has no descriptor left."""
        self._make_room()

    def sweep(self) -> None:
        """Once a second. What was noted as having happened at `now` may have happened any time
        since then: nobody gets less than his time, and everybody up to two sweeps more."""
        certain, self.now = self.now, self._clock()
        for seat in list(self._seats):
            conversation = seat.conversation
            if (
                certain - seat.since > self.limits.handshake
                if conversation is None
                else conversation.overdue(certain)
            ):
                self._end(seat)

    def _make_room(self, address: str = "") -> bool:
        idle = [
            (patience, seat.number, seat)
            for seat in self._seats
            if (not address or seat.address == address)
            and (patience := seat.patience()) is not None
        ]
        longest = heapq.nsmallest(max(len(idle) // _AT_ONCE, 1), idle)
        for _, _, seat in longest:
            self._end(seat)
        return bool(longest)

    def _end(self, seat: Seat) -> None:
        self.leave(seat)
        seat.end()


def client_address(host: str) -> str:
    """To whom connections from ``host`` count: an IPv6 client has a network of 64 bits of its
    own."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{ipaddress.IPv6Address(int(address) >> 64 << 64)}/64"
