"""A worker's sign of life for its supervisor: a byte a second from its event loop, through a pipe.

A worker that still runs but whose event loop does not go round (an endless loop, a stopped process,
a lock that nobody gives back) accepts nothing and answers nothing, and no exit code tells of it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field

VARIABLE = "POLYPLANE_HEARTBEAT_FD"
LONGEST_STEP = 1.0
"""Seconds that one look of the supervisor adds to a worker's silence at most: when the supervisor
itself was away for longer, the whole machine was (suspended, swapping), and the worker could not
beat either."""


@dataclass(slots=True)
class Heartbeat:
    """The worker's end. fd: -1 where nobody listens."""

    fd: int = -1

    @classmethod
    def inherited(cls) -> Heartbeat:
        """From the supervisor; one that does nothing in a worker without any."""
        fd = os.environ.pop(VARIABLE, "")  # not for the processes that this one starts
        if fd:
            os.set_inheritable(int(fd), False)
        return cls(int(fd)) if fd else cls()

    def beat(self) -> None:
        if self.fd >= 0:
            with suppress(
                OSError
            ):  # the pipe is full, or the supervisor has gone: it will end this process
                os.write(self.fd, b".")


@dataclass(slots=True)
class Pulse:
    """The supervisor's end. silent: seconds without a sign of life; beating: whether there has been
    one at all."""

    reader: int
    beating: bool = False
    silent: float = 0.0
    _looked: float = field(default_factory=time.monotonic)
    _waited: float = 0.0

    @classmethod
    def pipe(cls) -> tuple[Pulse, int]:
        """(the pulse, the descriptor for the worker, which is to be closed here)."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        return cls(reader), writer

    def look(self, now: float, waited: float) -> float:
        """For how many seconds the worker has been silent although it could have spoken. ``now``:
        of the monotonic clock; ``waited``: for how long in its life it did not get the processor
        that it wanted."""
        try:
            heard = bool(os.read(self.reader, 4096))
        except BlockingIOError:
            heard = False
        step = min(now - self._looked, LONGEST_STEP) - (waited - self._waited)
        self.silent = 0.0 if heard else self.silent + max(step, 0.0)
        self.beating, self._looked, self._waited = self.beating or heard, now, waited
        return self.silent

    def close(self) -> None:
        os.close(self.reader)
