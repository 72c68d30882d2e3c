"""The worker processes: started on the shared socket, replaced when they die or hang, stopped
together.

A worker that dies young is replaced after a pause that doubles, up to ten seconds; one that ran a
while, at once. A worker hangs when its event loop gives no sign of life
(`controlplane.serving.heartbeat`): it is asked where it hangs, for the log, and killed. Its
connections end with it; new ones have gone to the others all the time, because all workers share
the listener.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from apiserver.watch.board import FILE_SIZE
from controlplane import environment
from controlplane.privileges import become
from controlplane.serving.heartbeat import VARIABLE, Pulse

_YOUNG = 10.0  # seconds
_LONGEST_PAUSE = 10.0  # seconds
_START_WITHIN = 90.0  # seconds from the start of a worker to its first sign of life
_LAST_WORDS = 0.5  # seconds for a worker that hangs to write where


@dataclass(slots=True)
class _Slot:
    """One worker's place. due: monotonic time of the next start; deaths: in a row, of young
    workers; asked: monotonic time at which a worker that hangs was asked where, 0 if it was not."""

    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    due: float = 0.0
    deaths: int = 0
    pulse: Pulse | None = None
    asked: float = 0.0


@dataclass(slots=True)
class Workers:
    """count processes on the listener and on those of single tenants (of_tenants: by name), which
    share a board (`apiserver.watch.board`) and a directory for what they count
    (`apiserver.endpoints.metric_peers`). hung_after: seconds of silence after which a worker is
    killed and replaced, 0: never (one that has not been heard yet gets at least `_START_WITHIN`).
    Call `tend` often."""

    listener: socket.socket
    count: int
    hung_after: float = 0.0
    of_tenants: Mapping[str, socket.socket] = field(default_factory=dict)
    slots: list[_Slot] = field(default_factory=list)
    board: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    metrics: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="polyplane-metrics-")
    )

    def start(self) -> None:
        self.board.write(
            bytes(FILE_SIZE)
        )  # a hole in the file would kill the workers when the disk is full
        self.board.flush()
        self.slots = [_Slot() for _ in range(self.count)]
        self.tend()

    def tend(self) -> list[str]:
        """Starts what is due, ends what hangs and notices what died; returns a line for each that
        hangs or died."""
        now, lines = time.monotonic(), []
        for slot in self.slots:
            if slot.process is not None:
                lines += self._check(slot, slot.process, now)
            if slot.process is not None and (code := slot.process.poll()) is not None:
                young = now - slot.started < _YOUNG
                slot.deaths = slot.deaths + 1 if young else 0
                pause = min(0.1 * 2**slot.deaths, _LONGEST_PAUSE) if young else 0.0
                lines.append(
                    f"worker {slot.process.pid} {_ending(code)}; another starts in {pause:.1f} s"
                )
                slot.process, slot.due = None, now + pause
                if slot.pulse is not None:
                    slot.pulse.close()
                slot.pulse, slot.asked = None, 0.0
            if slot.process is None and now >= slot.due:
                slot.process, slot.pulse = self._spawn()
                slot.started = now
        return lines

    def _check(self, slot: _Slot, process: subprocess.Popen[bytes], now: float) -> list[str]:
        """Asks a worker that hangs for its stack, and kills it a moment later: one that is stopped
        (SIGSTOP) cannot answer."""
        if slot.pulse is None or not self.hung_after:
            return []
        silent = slot.pulse.look(now, waited_for_processor(process.pid))
        if silent <= (
            self.hung_after if slot.pulse.beating else max(_START_WITHIN, self.hung_after)
        ):
            slot.asked = 0.0
        elif not slot.asked:
            slot.asked = now
            process.send_signal(
                signal.SIGUSR1
            )  # faulthandler writes the stacks of all threads to the log (controlplane.worker)
            return [
                f"worker {process.pid} hangs: no sign of life for {silent:.0f} s; it will be killed"
            ]
        elif now - slot.asked >= _LAST_WORDS:
            process.kill()
        return []

    @property
    def failing(self) -> bool:
        """Whether some worker cannot start at all: it died young three times in a row."""
        return any(slot.deaths >= 3 for slot in self.slots)

    def _spawn(self) -> tuple[subprocess.Popen[bytes], Pulse]:
        fd, board = self.listener.fileno(), self.board.fileno()
        more = {tenant: listener.fileno() for tenant, listener in self.of_tenants.items()}
        pulse, beats = Pulse.pipe()
        try:
            process = subprocess.Popen(  # noqa: S603
                environment.command(
                    "serve", "--fd", str(fd), *(f"--tenant-fd={t}={n}" for t, n in more.items())
                ),
                pass_fds=[fd, board, beats, *more.values()],
                env={
                    **os.environ,
                    "POLYPLANE_BOARD_FD": str(board),
                    "POLYPLANE_METRICS_DIR": self.metrics.name,
                    VARIABLE: str(beats),
                },
                stdin=subprocess.DEVNULL,
                # Ctrl-C at the terminal reaches the supervisor, which decides the order
                start_new_session=True,
                preexec_fn=become(None, signal.SIGKILL),
            )
        finally:
            os.close(beats)
        return process, pulse

    def stop(self, timeout: float) -> None:
        """SIGTERM to all, and SIGKILL to those that are still there after ``timeout`` seconds."""
        alive = [
            slot.process
            for slot in self.slots
            if slot.process is not None and slot.process.poll() is None
        ]
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
        self.metrics.cleanup()


def waited_for_processor(pid: int) -> float:
    """Seconds in its life for which the process's main thread wanted a processor and had none; 0
    where Linux does not say."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _ending(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
