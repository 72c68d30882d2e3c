"""A thread for one piece of work, that can be ended from outside.

CPython raises an exception in another thread when it is asked to (``PyThreadState_SetAsyncExc``):
at the thread's next call or turn of a loop. So work needs no checks of its own, and whatever loops
in Python can be ended, also what nobody thought would loop. A single call into C is not broken off.
Locks are released as by any exception. What work leaves in shared caches must be complete whenever
it is there: make it first, put it in last (as threads want it anyway).
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import Any

Over = Callable[[Any, BaseException | None], None]


class Ended(BaseException):
    """Raised inside of work that is to end. Nothing but cleaning up may follow."""


_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc


_AGAIN = 0.02
"""Seconds of processor time that work must have gone on for before it is asked again."""


class _State(Enum):
    WAITING, WORKING, OVER = range(3)


class EndableThread:
    """``work`` runs in a thread from `start` on; ``over(result, error)`` is called in that thread
    when it has ended, once and always. error: Ended if it was ended."""

    def __init__(self, work: Callable[[], Any], over: Over) -> None:
        self._work, self._over = work, over
        self._thread = threading.Thread(target=self._run, name="large-object", daemon=True)
        self._lock = threading.Lock()
        self._state = _State.WAITING
        self._asked: float | None = None
        self._clock: int | None = None
        self._total = 0.0

    def start(self) -> None:
        self._thread.start()

    def seconds(self) -> float:
        """Processor time that it has taken."""
        clock = self._clock
        if clock is None or self._state is _State.OVER:
            return self._total
        try:
            return time.clock_gettime(clock)
        except OSError:  # it has ended in this moment
            return self._total

    def end(self) -> None:
        """Asks the work to end; does nothing once it is done. To be called again: some cleaning up
        swallows exceptions (``__del__``). Only work that has gone on since is asked again, so that
        no second exception comes while the first one is dealt with."""
        with self._lock:
            if self._state is _State.OVER:
                return
            spent = self.seconds()
            if self._asked is not None and spent - self._asked < _AGAIN:
                return
            self._asked = spent
            if self._state is _State.WORKING:
                _raise_in(ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(Ended))

    def _run(self) -> None:
        result, error = None, None
        try:
            self._begin()
            result = self._work()
        except BaseException as e:
            error = e
        while True:  # at most twice
            try:
                self._settle()
                break
            except Ended as e:
                error = e
        self._total = time.thread_time()
        self._over(None if error is not None else result, error)

    def _begin(self) -> None:
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        with self._lock:
            if self._asked is not None:
                raise Ended
            self._state = _State.WORKING

    def _settle(self) -> None:
        """From here on nothing is raised any more; what was asked for before is raised here."""
        with self._lock:
            self._state = _State.OVER
        for _ in range(2):  # a turn of a loop is where it would be raised
            pass
