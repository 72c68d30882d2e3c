"""The worker processes: started on the shared socket, replaced when they die, stopped together.

A worker that dies young is replaced after a pause that doubles, up to ten seconds; one that ran a while, at once.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import IO

from apiserver.watch.board import SIZE
from controlplane import environment
from controlplane.embedded.privileges import become

_YOUNG = 10.0  # seconds
_LONGEST_PAUSE = 10.0  # seconds


@dataclass(slots=True)
class _Slot:
    """One worker's place. due: monotonic time of the next start; deaths: in a row, of young workers."""

    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    due: float = 0.0
    deaths: int = 0


@dataclass(slots=True)
class Workers:
    """count processes on the listener, which share a board (`apiserver.watch.board`). Call `tend` often."""

    listener: socket.socket
    count: int
    slots: list[_Slot] = field(default_factory=list)
    board: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def start(self) -> None:
        self.board.write(bytes(SIZE))  # a hole in the file would kill the workers when the disk is full
        self.board.flush()
        self.slots = [_Slot() for _ in range(self.count)]
        self.tend()

    def tend(self) -> list[str]:
        """Starts what is due and notices what died; returns a line for each death."""
        now, lines = time.monotonic(), []
        for slot in self.slots:
            if slot.process is not None and (code := slot.process.poll()) is not None:
                young = now - slot.started < _YOUNG
                slot.deaths = slot.deaths + 1 if young else 0
                pause = min(0.1 * 2**slot.deaths, _LONGEST_PAUSE) if young else 0.0
                lines.append(f"worker {slot.process.pid} {_ending(code)}; another starts in {pause:.1f} s")
                slot.process, slot.due = None, now + pause
            if slot.process is None and now >= slot.due:
                slot.process, slot.started = self._spawn(), now
        return lines

    @property
    def failing(self) -> bool:
        """Whether some worker cannot start at all: it died young three times in a row."""
        return any(slot.deaths >= 3 for slot in self.slots)

    def _spawn(self) -> subprocess.Popen[bytes]:
        fd, board = self.listener.fileno(), self.board.fileno()
        return subprocess.Popen(  # noqa: S603
            [sys.executable, str(environment.REPOSITORY / "manage.py"), "serve", "--fd", str(fd)],
            pass_fds=[fd, board],
            env={**os.environ, "POLYPLANE_BOARD_FD": str(board)},
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C at the terminal reaches the supervisor, which decides the order
            preexec_fn=become(None, signal.SIGKILL),
        )

    def stop(self, timeout: float) -> None:
        """SIGTERM to all, and SIGKILL to those that are still there after ``timeout`` seconds."""
        alive = [slot.process for slot in self.slots if slot.process is not None and slot.process.poll() is None]
        self.slots = []
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + timeout
        self.board.close()
        for process in alive:
            try:
                process.wait(max(deadline - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _ending(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
