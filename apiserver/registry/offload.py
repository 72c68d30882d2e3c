"""Work on large objects beside the event loop.

To parse, type, compare and validate an object takes time by its size: seconds for one of megabytes.
Up to `LARGE` that is done where it stands, because a change of threads costs more; above it a
thread does it, and the loop serves others in between.

Tenants take turns (`turns`), and within a tenant priority levels and flows, so that what one asks
for holds up nobody else's large objects for longer than a turn. Work ends when it has taken
`BUDGET` of processor time, when its client has waited for `PATIENCE`, and when its client is gone
(`endable`): what waits is then dropped at once.
Why threads: docs/decisions/0007-large-objects-in-threads.md.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, thread_time
from typing import Any, TypeVar

from apiserver.effort import TakesLong, limited
from apiserver.errors import ApiError, TimedOut, TooManyRequests
from apiserver.flow.lines import Place
from apiserver.meta.values import value
from apiserver.registry.endable import EndableWork
from apiserver.registry.turns import Full, Limits, Numbered, Turns
from apiserver.schema.types import Schema
from apiserver.whose import is_shared

log = logging.getLogger("polyplane.api")

LARGE = 64 * 1024
"""Bytes of an object's text."""
LARGE_WITH_RULES = 4 * 1024
"""Of an object whose validation runs expressions of its definition's author, who may nest loops."""

ON_LOOP = 0.02
"""Seconds of processor time that validation may take on the loop before it is begun anew beside
it."""

ON_SHARED_LOOP = 0.002
"""The same while other tenants have something to do on the loop."""

LIMITS = Limits(places=2, waiting=128, waiting_bytes=64 * 1024 * 1024)
"""Of one process; a flow that waits alone has half of it. Threads share the interpreter's lock with
the loop: more of them would answer nobody sooner and slow down everybody."""
RESTS, LONGEST_REST = 2.0, 0.02
"""While tenants share the loop, one rests after a turn beside it: so many times as long as the turn
took, and so many seconds at most. Processors that one tenant's threads keep busy are late for
everybody: the system let a neighbour's answer of the database wait for 20 ms."""
BUDGET = 10.0
"""Seconds of processor time for all that one request has done beside the loop."""
PATIENCE = 60.0
"""Seconds for which a request waits for one step; kube-apiserver's ``--request-timeout``."""
_SWITCH = 0.0001
"""Seconds after which a thread hands the interpreter's lock to the loop. With Python's own 5 ms a
loop beside one busy thread served a third of what it serves alone, with 0.1 ms more than half."""
LATELY = 10.0
"""Seconds after which a sort of work that took long is given the loop again."""
_SORTS = 1000
_take_long: dict[Hashable, float] = {}
"""Sorts of work, and until when they are not begun on a loop that tenants share."""
_LOOK = 0.25
"""Seconds between two looks at the processor time of work."""

_TOO_LONG = "request did not complete within the allotted timeout"

T = TypeVar("T")


class ClientGone(Exception):
    """The client closed the connection before it had an answer."""


@dataclass(slots=True)
class Meter:
    """What the steps of one request have cost so far. seconds: of processor time in threads;
    on_loop: of what is repeatable, on the loop."""

    seconds: float = 0.0
    on_loop: float = 0.0


@value(frozen=True, slots=True)
class Asker:
    """For whom one step is done. size: bytes of the text that it is about; gone: returns when the
    client has closed the connection. None: what nobody's going ends, and what waits for its turn
    however much waits already. meter: shared by all steps of one request. place: where the
    request's work waits, None for what the server does itself."""

    tenant: Numbered
    size: int = 0
    gone: Callable[[], Awaitable[None]] | None = None
    meter: Meter = field(default_factory=Meter)
    place: Place | None = None


async def by_size(asker: Asker, work: Callable[[], T], large: int = LARGE) -> T:
    """What ``work`` returns or raises: here and now if the asker's size is below ``large``, else
    by `beside`."""
    if asker.size < large:
        return work()
    return await beside(asker, work)


async def repeatable(
    asker: Asker, work: Callable[[], T], large: int = LARGE, sort: Hashable = None
) -> T:
    """As `by_size`, for work that what a tenant wrote may make long however small the object is:
    rules, patterns, their compilation. On the loop it is broken off when the request's steps have
    had ON_LOOP seconds there (ON_SHARED_LOOP), and begun anew, so it must have no effect before its
    end that hurts when it comes twice. sort: what takes about as long, within a tenant; of a sort
    that was broken off lately, the next is not begun on a loop that tenants share."""
    shared, sort = is_shared(), sort and (asker.tenant.id, sort)
    left = (ON_SHARED_LOOP if shared else ON_LOOP) - asker.meter.on_loop
    if asker.size < large and left > 0 and not (shared and _take_long.get(sort, 0) > monotonic()):
        account = limited(left)
        try:
            with suppress(TakesLong), account:
                return work()
        finally:
            asker.meter.on_loop += thread_time() - (account.until - left)
        if sort is not None:
            _remember(sort)
    return await beside(asker, work)


def _remember(sort: Hashable) -> None:
    if len(_take_long) >= _SORTS:
        _take_long.clear()
    _take_long[sort] = monotonic() + LATELY


async def beside(asker: Asker, work: Callable[[], T]) -> T:
    """What ``work`` returns or raises, in the asker's turn. It must need neither the loop nor
    other threads, and leave nothing half made where others find it.

    Raises TooManyRequests, TimedOut, ClientGone."""
    outcome: T = await _offload().run(asker, work)
    return outcome


def large_to_validate(schema: Schema) -> int:
    """The size from which objects of that schema are validated by a thread."""
    return LARGE_WITH_RULES if schema.below.rules else LARGE


def out_of_time() -> ApiError:
    what = f"it took more than {BUDGET:g}s of processor time"
    return TimedOut(f"{_TOO_LONG}: {what}")


class _Job:
    """answer: what ``work`` returns or raises; running: while it runs; ending: it is to end, and
    nobody waits for its answer."""

    __slots__ = ("answer", "asker", "ending", "running", "work")

    def __init__(self, asker: Asker, work: Callable[[], Any], answer: asyncio.Future[Any]) -> None:
        self.asker, self.work, self.answer = asker, work, answer
        self.running: EndableWork | None = None
        self.ending = False


class Offload:
    """Of one event loop, and used in it alone."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, limits: Limits = LIMITS, budget: float = BUDGET
    ) -> None:
        self.loop, self.budget = loop, budget
        self.turns: Turns[_Job] = Turns(limits)
        sys.setswitchinterval(_SWITCH)

    async def run(self, asker: Asker, work: Callable[[], Any]) -> Any:
        job = _Job(asker, work, self.loop.create_future())
        try:
            self.turns.add(asker, job, bounded=asker.gone is not None)
        except Full:
            raise TooManyRequests("too many requests, please try again later") from None
        self._begin()
        leaving = asyncio.ensure_future(asker.gone()) if asker.gone is not None else None
        try:
            waited = {job.answer} if leaving is None else {job.answer, leaving}
            await asyncio.wait(waited, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if job.answer.done():
                return job.answer.result()
            if leaving is not None and leaving.done():
                raise ClientGone
            raise TimedOut(_TOO_LONG)
        finally:
            if leaving is not None:
                leaving.cancel()
            self._abandon(job)

    def _begin(self) -> None:
        """Begins whatever may have a place."""
        while (job := self.turns.next()) is not None:
            job.running = EndableWork(job.work, self._reporter(job))
            try:
                job.running.start()
            except RuntimeError as error:  # the system has no more threads
                self.loop.call_soon(self._over, job, None, error, 0.0)
            else:
                self.loop.call_later(_LOOK, self._look, job)

    def _reporter(self, job: _Job) -> Callable[[Any, BaseException | None], None]:
        def over(result: Any, error: BaseException | None) -> None:
            assert job.running is not None, "it calls this"
            spent = job.running.seconds()
            try:
                self.loop.call_soon_threadsafe(self._over, job, result, error, spent)
            except RuntimeError:
                log.debug("a loop has been closed before its work ended")

        return over

    def _over(self, job: _Job, result: Any, error: BaseException | None, spent: float) -> None:
        job.running = None
        job.asker.meter.seconds += spent
        self._done(job.asker, spent)
        if not job.answer.done():
            if error is None:
                job.answer.set_result(result)
            else:
                job.answer.set_exception(error if isinstance(error, Exception) else out_of_time())
        self._begin()

    def _done(self, asker: Asker, spent: float) -> None:
        """Gives the place back. What the server does itself is followed by no rest."""
        rests = asker.gone is not None and is_shared()
        self.turns.done(asker, spent, rests=rests)
        if rests:
            self.loop.call_later(min(RESTS * spent, LONGEST_REST), self._rested, asker.tenant.id)

    def _rested(self, tenant: int) -> None:
        self.turns.rested(tenant)
        self._begin()

    def _look(self, job: _Job) -> None:
        """Ends work that has taken its time, and asks again where it has not ended since."""
        if job.running is None:
            return
        if job.asker.meter.seconds + job.running.seconds() > self.budget:
            job.ending = True
            if not job.answer.done():
                job.answer.set_exception(out_of_time())
        if job.ending:
            job.running.end()
        self.loop.call_later(_LOOK, self._look, job)

    def _abandon(self, job: _Job) -> None:
        """Nobody waits for it any more."""
        if job.running is not None:
            job.ending = True
            job.running.end()
        elif not job.answer.done():
            self.turns.drop(job.asker, job)
        if not job.answer.cancel() and not job.answer.cancelled():
            job.answer.exception()  # nobody may have asked for it


_current: Offload | None = None


def _offload() -> Offload:
    """That of the running loop; a process has one loop, tests have one after the other."""
    global _current
    loop = asyncio.get_running_loop()
    if _current is None or _current.loop is not loop:
        _current = Offload(loop)
    return _current
