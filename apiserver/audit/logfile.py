"""The audit log as a file of JSON lines, one event each.

All workers append to the same file, whole batches of lines in one write. Rotation is logrotate's
affair: a file that was moved away is opened anew under its name before the next batch.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from apiserver.audit.feed import Feed

STDOUT = "-"
_MODE = 0o600


class LogFile(Feed):
    """path: `STDOUT` for standard output."""

    def __init__(self, path: str) -> None:
        super().__init__("audit-log", batch=400, batch_bytes=2**20, wait=0.1)
        self._path = path
        self._fd = -1
        self._torn = False  # the disk was full in the middle of a line

    def write(self, events: Sequence[bytes]) -> None:
        text = (b"\n" if self._torn else b"") + b"\n".join(events) + b"\n"
        rest, fd = memoryview(text), self._open()
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        finally:
            self._torn = 0 < len(rest) < len(text) or (self._torn and bool(rest))

    def finish(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> int:
        if self._path == STDOUT:
            return sys.__stdout__.fileno() if sys.__stdout__ is not None else 1
        if self._fd >= 0 and not self._is_current():
            os.close(self._fd)
            self._fd = -1
        if self._fd < 0:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, _MODE)
        return self._fd

    def _is_current(self) -> bool:
        try:
            there, ours = os.stat(self._path), os.fstat(self._fd)
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
