"""Token buckets, from which all workers of a machine can draw, in memory that they share.

A bucket is one number: the moment at which it will be full again. To draw is to move that by the
time in which the tokens come back, as long as no more than the bucket's size is missing then. So a
bucket that has not been used for a while says nothing, and its place is free.

Places come in sets of a few, and a bucket's key says in which it may be. Where all of them are in
use, that of the bucket which is full next is taken, whose tokens are back then: a bucket may be
forgotten where very many are drawn from, and never is one drawn from for another. Each kind of
bucket has places of its own.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from hashlib import blake2b

KINDS = 4
_SETS, _WAYS = 2048, 8
_PLACE = struct.Struct("=Qd")
"""Whose it is (a part of the key's hash, never 0), and when it will be full (time.monotonic)."""
_SET = _WAYS * _PLACE.size
_KIND = _SETS * _SET
SIZE = KINDS * _KIND


class Buckets:
    """``fd``: of a file with SIZE bytes from ``offset`` on, zeros at first; None: this process is
    the only one."""

    def __init__(self, fd: int | None = None, offset: int = 0) -> None:
        self._fd = None if fd is None else os.dup(fd)
        self._memory = mmap.mmap(-1, SIZE) if fd is None else mmap.mmap(fd, offset + SIZE)
        self._offset = 0 if fd is None else offset

    def take(
        self,
        kind: int,
        key: str,
        rate: float,
        size: int,
        now: float | None = None,
        *,
        cost: int = 1,
    ) -> bool:
        """Whether there were ``cost`` tokens, or as many as a full bucket has; if not, none is
        taken. kind: below KINDS; rate: tokens that come back in a second, up to ``size``."""
        digest = int.from_bytes(
            blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        )
        at = self._offset + kind * _KIND + (digest >> 64) % _SETS * _SET
        owner, now = digest & 0xFFFFFFFFFFFFFFFF or 1, time.monotonic() if now is None else now
        self._lock(fcntl.LOCK_EX, at)
        try:
            place, full = self._find(at, owner)
            after = max(full, now) + min(cost, size) / rate
            if after - now > size / rate * (1 + 1e-9):
                return False
            self._memory[place : place + _PLACE.size] = _PLACE.pack(owner, after)
            return True
        finally:
            self._lock(fcntl.LOCK_UN, at)

    def _find(self, at: int, owner: int) -> tuple[int, float]:
        """The place of the bucket, and when it is full; 0.0 for a new one."""
        places = []
        for place in range(at, at + _SET, _PLACE.size):
            of, full = _PLACE.unpack_from(self._memory, place)
            if of == owner:
                return place, full
            places.append((full, place))
        return min(places)[1], 0.0

    def _lock(self, operation: int, at: int) -> None:
        """Of a set; it ends with a process that dies, and nobody waits while it is held."""
        if self._fd is not None:
            fcntl.lockf(self._fd, operation, _SET, at)

    def close(self) -> None:
        self._memory.close()
        if self._fd is not None:
            os.close(self._fd)
