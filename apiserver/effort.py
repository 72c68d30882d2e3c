"""How much a piece of work may take: processor time, and memory where the work counts it. Each
thread has its own account.

Whoever starts work that a tenant shapes (rules, patterns, schemas) opens an account with `limited`;
loops below it call `spend` with the steps that they are about to take, and `hold` with the bytes
that they are about to make. Every so many steps the clock is looked at, and when the time is up the
account's own exception goes through everything: the event loop's says that the work has to be begun
anew in a thread (`TakesLong`), that of CEL that the cost limit is reached. Without an account
nothing is limited.

A step is about 0.1 µs of processor time. Accounts nest: the inner one cannot outlast the outer one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from time import thread_time
from typing import Final

STEP: Final = 1e-7
"""Seconds."""
_LOOK: Final = 5_000
"""Steps between two looks at the clock."""


class TakesLong(BaseException):
    """The work takes longer than its caller may wait: it is to be begun anew where it may. Nothing
    on the way turns it into an answer."""


class Effort:
    """An account, open inside of its ``with``. until: on time.thread_time's clock; room: bytes
    left; cancelled: whether nobody waits for the result any more."""

    __slots__ = ("_cancelled", "_late", "_outer", "room", "steps", "until")

    def __init__(
        self,
        seconds: float,
        late: Callable[[], BaseException],
        room: float,
        cancelled: Callable[[], bool] | None,
    ) -> None:
        self.until = thread_time() + seconds
        self.room = room
        self.steps = _LOOK
        self._late, self._cancelled = late, cancelled
        self._outer: Effort | None = None

    def __enter__(self) -> Effort:
        self._outer, _account.current = _account.current, self
        return self

    def __exit__(self, *_: object) -> None:
        _account.current = self._outer

    def spend(self, steps: float) -> None:
        """Before so many steps. Raises what the account raises when the time is up, or is so before
        a call that cannot be broken off."""
        self.steps -= steps  # type: ignore[assignment]  # parts of a step do no harm
        if self.steps < 0:
            self._look(-self.steps if steps > _LOOK else 0)

    def hold(self, size: float) -> None:
        """Before so many bytes are made."""
        self.room -= size
        if self.room < 0:
            raise self._late()

    def _look(self, ahead: float) -> None:
        """ahead: steps of a call that is to come, which is not begun when there is no time for
        it."""
        self.steps = _LOOK
        now, late = thread_time() + ahead * STEP, None
        account: Effort | None = self
        while account is not None:
            if now > account.until or (account._cancelled is not None and account._cancelled()):
                late = account._late
            account = account._outer
        if (
            late is not None
        ):  # the outermost counts, because it says what happens to the work as a whole
            raise late()


class _Account(threading.local):
    current: Effort | None = None


_account = _Account()


def spend(steps: float) -> None:
    """See `Effort.spend`."""
    current = _account.current
    if current is not None:
        current.spend(steps)


def hold(size: float) -> None:
    """See `Effort.hold`."""
    current = _account.current
    if current is not None:
        current.hold(size)


def is_limited() -> bool:
    """Whether someone has opened an account in this thread that counts memory."""
    return _account.current is not None and _account.current.room < inf


def limited(
    seconds: float,
    late: Callable[[], BaseException] = TakesLong,
    room: float = inf,
    cancelled: Callable[[], bool] | None = None,
) -> Effort:
    """An account for what is done inside of its ``with``. late: what to raise when the time is up,
    the room used, or ``cancelled`` says so."""
    return Effort(seconds, late, room, cancelled)
