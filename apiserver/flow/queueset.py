"""The requests of one priority level: which of them are served, and in which order those that wait
have their turn (k8s.io/apiserver ``util/flowcontrol/fairqueuing/queueset``).

Fair queuing for requests that occupy seats: a queue's ``next_r`` is the virtual time at which its
next request would begin if all queues were served at once, each at the same rate, and the request
that would end first is dispatched first. How long it takes is guessed when it begins, and put right
when it has ended. Virtual time runs in seconds for each active queue; how fast, depends on how many
there are and how many seats they share.

Queues in which nothing waits or is served are forgotten, however many are configured. Pure
bookkeeping: the clock, and what calls back later, are given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any, NamedTuple, Protocol

from apiserver.flow.counts import Counts, Spread
from apiserver.flow.occupancy import DEMAND, REQUESTS, SEATS, Occupancy
from apiserver.flow.shuffle import Hand

GUESS = 0.003
"""Seconds that a request is taken to last before it is known."""
_KEPT = 64
"""Empty queues beside which no others are kept."""
_ROUND = 1 << 24
"""More than there are queues."""


def _nothing() -> None:
    return None


class Work:
    """Seats while the request is served, and those that stay taken for ``lingers`` seconds
    afterwards. most: seats that it needs at once; total: seat-seconds, as far as one can guess."""

    __slots__ = ("final", "initial", "lingers", "most", "total")

    def __init__(self, initial: int = 1, final: int = 0, lingers: float = 0.0) -> None:
        self.initial, self.final, self.lingers = initial, final, lingers
        self.most = max(initial, final)
        self.total = initial * GUESS + final * lingers


class Queuing(NamedTuple):
    """As in a PriorityLevelConfiguration; length: requests in one queue."""

    queues: int
    hand_size: int
    length: int

    @property
    def places(self) -> int:
        """For requests that wait."""
        return self.queues * self.length


class Rejected(Exception):
    """reason: "queue-full", "concurrency-limit" or "time-out"."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Flowing(Protocol):
    """hand: the queues that its requests may wait in."""

    @property
    def hand(self) -> Hand: ...
    @property
    def counts(self) -> Counts: ...


class Ticket:
    """One request. wake: called when it may begin after it had to wait; who: shown in dumps, of no
    meaning here."""

    __slots__ = (
        *("arrival_r", "arrived", "flow", "queue", "started", "waiting", "wake", "who", "work"),
    )

    def __init__(
        self, flow: Flowing, work: Work, wake: Callable[[], None] = _nothing, who: Any = None
    ) -> None:
        self.flow, self.work, self.wake, self.who = flow, work, wake, who
        self.queue: Queue | None = None
        self.waiting = False
        self.arrived = self.started = self.arrival_r = 0.0


class Queue:
    """waiting, executing: in the order in which they came; seats: of those that are served, and of
    those whose seats linger; work, waiting_seats: seat-seconds and seats of those that wait."""

    __slots__ = ("executing", "index", "next_r", "seats", "waiting", "waiting_seats", "work")

    def __init__(self, index: int) -> None:
        self.index, self.next_r = index, 0.0
        self.waiting: dict[Ticket, None] = {}
        self.executing: dict[Ticket, None] = {}
        self.seats = self.waiting_seats = 0
        self.work = 0.0


class Demand(NamedTuple):
    """Of seats, in the seconds since it was last asked for."""

    seconds: float
    most: int
    average: float
    deviation: float


class QueueSet:
    """queuing: None where a request that finds no seat is rejected; limit: seats; clock: seconds;
    later: calls a function after some seconds."""

    def __init__(
        self,
        queuing: Queuing | None,
        limit: int,
        clock: Callable[[], float],
        later: Callable[[float, Callable[[], None]], object],
        *,
        exempt: bool = False,
    ) -> None:
        self.queuing, self.limit, self.exempt = queuing, limit, exempt
        self._clock, self._later = clock, later
        self.queues: dict[int, Queue] = {}
        self._queued: dict[Queue, None] = {}
        """Those in which something waits."""
        self.queueless: dict[Ticket, None] = {}
        self.r = self.dispatch_r = self.latest_s = 0.0
        """Virtual times: now, of the last dispatch, and when that should have begun."""
        self._last = clock()
        self._robin = self._dealt = self._active = 0
        self.waiting = self.executing = self.seats = self.waiting_seats = 0
        self.dispatched = self.rejected = self.cancelled = 0
        self._since, self._most, self._sum, self._squares = self._last, 0, 0.0, 0.0
        self._occupancy = Occupancy(DEMAND, SEATS, REQUESTS, REQUESTS)

    @property
    def idle(self) -> bool:
        return not self.waiting and not self.executing

    def configure(self, queuing: Queuing | None, limit: int, instead: int = 1) -> None:
        """What waits, waits on; queues that are no longer dealt run empty. instead: seats that
        occupancy is a part of where the limit is 0."""
        self._advance()
        self.queuing, self.limit = queuing, limit
        seats, places = limit or instead, 1 if queuing is None else queuing.places
        self._occupancy.limit((seats, seats, places, seats))
        self._dispatch()

    # --- a request --------------------------------------------------------------------------------
    def ask(self, ticket: Ticket) -> bool:
        """Whether it may begin now; otherwise it is woken. Raises Rejected."""
        if self.exempt:
            self._begin_exempt(ticket)
            return True
        self._advance()
        ticket.arrived, ticket.arrival_r = self._last, self.r
        queuing, most = self.queuing, ticket.work.most
        if queuing is None:
            if not self._fits(most):
                self._reject(ticket, "concurrency-limit")
            self._begin(ticket, None)
            return True
        queue = self._choose(ticket.flow.hand)
        if not self.waiting and self.seats + most <= self.limit:
            self._begin_at_once(ticket, queue)
            return True
        if self.seats >= self.limit and len(queue.waiting) >= queuing.length:
            self._reject(ticket, "queue-full")
        self._enqueue(ticket, queue)
        ticket.flow.counts.lengths.add(len(queue.waiting))
        self._bound(queue)
        self._dispatch(ticket)
        return not ticket.waiting

    def finish(self, ticket: Ticket) -> float:
        """It has been served; in how many seconds."""
        self._advance()
        if self.exempt and not ticket.work.lingers:
            return self._finish_exempt(ticket)
        lasted = self._last - ticket.started
        work, queue = ticket.work, ticket.queue
        self.executing -= 1
        ticket.flow.counts.executing -= 1
        if queue is None:
            del self.queueless[ticket]
        else:
            del queue.executing[ticket]
            queue.next_r -= work.initial * (GUESS - lasted)
            if queue.waiting:
                self._bound(queue)
            elif not queue.executing:
                self._active -= 1
        if work.lingers > 0:
            self._later(work.lingers, lambda: self._linger_over(ticket))
        else:
            self._release(ticket)
        if self.waiting:
            self._dispatch()
        return lasted

    def withdraw(self, ticket: Ticket) -> None:
        """It waits no longer: its client is gone, or has waited for long enough."""
        self._advance()
        queue = ticket.queue
        assert queue is not None and ticket.waiting
        self._dequeue(ticket, queue)
        self._active -= not queue.waiting and not queue.executing
        self._bound(queue)
        self._forget(queue)
        self.rejected += 1
        self.cancelled += 1
        ticket.flow.counts.rejected["time-out"] += 1
        self._dispatch()

    def demand(self) -> Demand:
        """How many seats were wanted since the last call."""
        self._advance()
        seconds, most = self._last - self._since, self._most
        average = deviation = 0.0
        if seconds > 0:
            average = self._sum / seconds
            deviation = sqrt(max(self._squares / seconds - average * average, 0.0))
        self._since, self._sum, self._squares = self._last, 0.0, 0.0
        self._most = self.seats + self.waiting_seats
        return Demand(seconds, most, average, deviation)

    def next_starts(self, *, discounted: bool = False) -> tuple[float, float]:
        """The first and the last virtual time at which a queue's oldest request would begin; zeros
        where none waits. discounted: less what is guessed of the work on the queue's seats."""
        each = GUESS if discounted else 0.0
        starts = [queue.next_r - queue.seats * each for queue in self._queued]
        return (min(starts), max(starts)) if starts else (0.0, 0.0)

    def occupancy(self) -> Sequence[Spread]:
        """Until now, as parts of the limit in force: of seats wanted and seats taken, of requests
        that wait (of the queues' places) and of requests that are served."""
        self._advance()
        self._occupancy.fold()
        return self._occupancy.spreads

    # --- its parts --------------------------------------------------------------------------------
    def _advance(self) -> None:
        now = self._clock()
        passed, self._last = now - self._last, now
        demand = self.seats + self.waiting_seats
        if self._active:
            self.r += passed * min(demand, self.limit) / self._active
        self._sum += demand * passed
        self._squares += demand * demand * passed
        self._occupancy.add((demand, self.seats, self.waiting, self.executing), passed)

    def _reject(self, ticket: Ticket, reason: str) -> None:
        self.rejected += 1
        ticket.flow.counts.rejected[reason] += 1
        raise Rejected(reason)

    def _choose(self, hand: Hand) -> Queue:
        """The queue of the hand with the least work waiting; of equal ones each in turn."""
        size, queues = len(hand), self.queues
        self._dealt += 1
        offset, best = self._dealt, None
        for i in range(offset, offset + size):
            index = hand[i % size]
            queue = queues.get(index)
            if queue is None:
                queue = queues[index] = Queue(index)
            if not queue.work:
                return queue
            if best is None or queue.work < best.work:
                best = queue
        assert best is not None, "a hand has cards"
        return best

    def _begin_at_once(self, ticket: Ticket, queue: Queue) -> None:
        """As if it had been enqueued and dispatched: nothing else waits, and it has its seats."""
        if not queue.executing:
            queue.next_r = self.r
            self._active += 1
        ticket.queue = queue
        cells = ticket.flow.counts.lengths.cells
        cells[1] += 1  # a queue of one request
        cells[-1] += 1
        self._narrow(ticket)
        self._robin = queue.index
        self._dispatched(ticket, queue)

    def _dispatched(self, ticket: Ticket, queue: Queue) -> None:
        self.dispatch_r, self.latest_s = self.r, queue.next_r
        self._begin(ticket, queue)
        queue.next_r += ticket.work.total

    def _enqueue(self, ticket: Ticket, queue: Queue) -> None:
        if not queue.waiting and not queue.executing:
            queue.next_r = self.r
            self._active += 1
        ticket.queue, ticket.waiting = queue, True
        queue.waiting[ticket] = None
        self._queued[queue] = None
        queue.work += ticket.work.total
        queue.waiting_seats += ticket.work.most
        self.waiting += 1
        self.waiting_seats += ticket.work.most
        counts = ticket.flow.counts
        counts.waiting += 1
        counts.waiting_seats += ticket.work.most
        self._most = max(self._most, self.seats + self.waiting_seats)

    def _dequeue(self, ticket: Ticket, queue: Queue) -> None:
        ticket.waiting = False
        del queue.waiting[ticket]
        queue.waiting_seats -= ticket.work.most
        queue.work -= ticket.work.total
        if not queue.waiting:
            queue.work = 0.0  # whatever rounding has left
            del self._queued[queue]
        self.waiting -= 1
        self.waiting_seats -= ticket.work.most
        counts = ticket.flow.counts
        counts.waiting -= 1
        counts.waiting_seats -= ticket.work.most

    def _begin(self, ticket: Ticket, queue: Queue | None) -> None:
        ticket.started = self._last
        if queue is None:
            self.queueless[ticket] = None
        else:
            queue.executing[ticket] = None
            queue.seats += ticket.work.most
        self.executing += 1
        self.dispatched += 1
        self.seats += ticket.work.most
        counts = ticket.flow.counts
        counts.dispatched += 1
        counts.executing += 1
        counts.seats += ticket.work.most
        demand = self.seats + self.waiting_seats
        if demand > self._most:
            self._most = demand

    def _begin_exempt(self, ticket: Ticket) -> None:
        """`_begin`, of who never waits."""
        self._advance()
        ticket.arrived = ticket.started = self._last
        self.queueless[ticket] = None
        most, counts = ticket.work.most, ticket.flow.counts
        self.executing += 1
        self.dispatched += 1
        seats = self.seats = self.seats + most
        if seats > self._most:
            self._most = seats
        counts.dispatched += 1
        counts.executing += 1
        counts.seats += most

    def _finish_exempt(self, ticket: Ticket) -> float:
        del self.queueless[ticket]
        most, counts = ticket.work.most, ticket.flow.counts
        self.executing -= 1
        self.seats -= most
        counts.executing -= 1
        counts.seats -= most
        return self._last - ticket.started

    def _dispatch(self, asking: Ticket | None = None) -> None:
        """Begins whatever may. ``asking``: knows without being woken."""
        while self.waiting and self.seats < self.limit:
            queue = self._next()
            ticket = next(iter(queue.waiting))
            if not self._fits(ticket.work.most):
                ticket.flow.counts.no_accommodation += 1
                return
            self._robin = queue.index
            self._dequeue(ticket, queue)
            self._narrow(ticket)
            self._dispatched(ticket, queue)
            self._bound(queue)
            if ticket is not asking:
                ticket.wake()

    def _next(self) -> Queue:
        """The queue whose oldest request would end first; of equal ones each in turn."""

        def order(queue: Queue) -> tuple[float, int]:
            finish = queue.next_r + next(iter(queue.waiting)).work.total
            return finish, (queue.index - self._robin - 1) % _ROUND

        queued = self._queued
        return next(iter(queued)) if len(queued) == 1 else min(queued, key=order)

    def _fits(self, seats: int) -> bool:
        if seats > self.limit:  # it would never fit
            return not self.executing
        return self.seats + seats <= self.limit

    def _narrow(self, ticket: Ticket) -> None:
        """What lingers does so on as many seats as there are, for longer."""
        work, limit = ticket.work, self.limit
        if work.final > limit:
            ticket.work = Work(work.initial, limit, work.final * work.lingers / limit)

    def _bound(self, queue: Queue) -> None:
        """No queue saves up turns for the time before its oldest request came."""
        if queue.waiting:
            queue.next_r = max(queue.next_r, next(iter(queue.waiting)).arrival_r)

    def _linger_over(self, ticket: Ticket) -> None:
        self._advance()
        self._release(ticket)
        self._dispatch()

    def _release(self, ticket: Ticket) -> None:
        self.seats -= ticket.work.most
        ticket.flow.counts.seats -= ticket.work.most
        if (queue := ticket.queue) is not None:
            queue.seats -= ticket.work.most
            self._forget(queue)

    def _forget(self, queue: Queue) -> None:
        if len(self.queues) <= _KEPT or queue.waiting or queue.executing or queue.seats:
            return
        self.queues.pop(queue.index, None)
