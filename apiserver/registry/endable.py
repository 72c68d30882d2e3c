"""Work beside the event loop that can be ended from outside.

CPython raises an exception in another thread when it is asked to (``PyThreadState_SetAsyncExc``):
at the thread's next call or turn of a loop. So work needs no checks of its own, and whatever loops
in Python can be ended, also what nobody thought would loop. A single call into C is not broken off.
Locks are released as by any exception. What work leaves in shared caches must be complete whenever
it is there: make it first, put it in last (as threads want it anyway).

Threads are kept: to start one makes whoever starts it wait until the system lets it run, which took
a third of a loop's time while both processors were busy with a neighbour's large objects.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from collections.abc import Callable
from contextvars import Context
from enum import Enum
from queue import SimpleQueue
from typing import Any

log = logging.getLogger("polyplane.api")

Over = Callable[[Any, BaseException | None], None]


class Ended(BaseException):
    """Raised inside of work that is to end. Nothing but cleaning up may follow."""


_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc


_AGAIN = 0.02
"""Seconds of processor time that work must have gone on for before it is asked again."""


class _State(Enum):
    WAITING, WORKING, OVER = range(3)


class EndableWork:
    """``work`` runs in a thread, in a context of its own, from `start` on; ``over(result, error)``
    is called in that thread when it has ended, once and always. error: Ended if it was ended."""

    def __init__(self, work: Callable[[], Any], over: Over) -> None:
        self._work, self._over = work, over
        self._lock = threading.Lock()
        self._state = _State.WAITING
        self._asked: float | None = None
        self._thread = 0
        self._clock: int | None = None
        self._began = 0.0
        self._total = 0.0

    def start(self) -> None:
        """Raises RuntimeError if a thread is needed and the system has none."""
        _threads.run(self)

    def seconds(self) -> float:
        """Processor time that it has taken."""
        clock = self._clock
        if clock is None or self._state is _State.OVER:
            return self._total
        try:
            return time.clock_gettime(clock) - self._began
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
                _raise_in(ctypes.c_ulong(self._thread), ctypes.py_object(Ended))

    def run(self, free: Callable[[], None]) -> None:
        """In the thread. ``free`` is called before it is told that the work is over: who hears of
        that may have more for this thread."""
        result, error = None, None
        try:
            self._begin()
            result = Context().run(self._work)
        except BaseException as e:
            error = e
        while True:  # at most twice
            try:
                self._settle()
                break
            except Ended as e:
                error = e
        self._total = time.thread_time() - self._began
        free()
        self._over(None if error is not None else result, error)

    def _begin(self) -> None:
        self._thread, self._began = threading.get_ident(), time.thread_time()
        self._clock = time.pthread_getcpuclockid(self._thread)
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


class _Threads:
    """Those of the process; as many as there was work at a time."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[EndableWork] = SimpleQueue()
        self._lock = threading.Lock()
        self._free = 0

    def run(self, work: EndableWork) -> None:
        with self._lock:
            if is_free := self._free > 0:
                self._free -= 1
        if is_free:
            self._waiting.put(work)
        else:
            # a thread keeps what it is called with for as long as it runs
            first = [work]
            threading.Thread(
                target=self._serve, args=(first,), name="large-object", daemon=True
            ).start()

    def _serve(self, first: list[EndableWork]) -> None:
        work = first.pop()
        while True:
            try:
                work.run(self._is_free)
            except Exception:
                log.exception("nobody could be told that work is over")
            del work  # and what it holds
            work = self._waiting.get()

    def _is_free(self) -> None:
        with self._lock:
            self._free += 1


_threads = _Threads()
