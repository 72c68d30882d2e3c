"""Which mode of impersonation last allowed something to a user, for all workers of a machine.

It is tried first the next time, and its refusal is what a client reads (`apiserver.authz.
impersonation`): the workers remember together, so that an answer does not hang on which of them
gives it. To forget costs an authorization check more, and tells of another mode in a refusal.
"""

from __future__ import annotations

import mmap
import os
from hashlib import blake2b

_SLOTS = 8192
_CELL = 8  # bytes
SIZE = _SLOTS * _CELL
_MODE = 0b111
"""Bits of a cell that hold the mode's index plus one; the others are the user's."""


class LastModes:
    """``fd``: of a file with SIZE bytes from ``offset`` on (a multiple of 8), zeros at first; None:
    this process is the only one. A cell is written at one go, and says whose it is; where two
    users share one, the later is remembered."""

    def __init__(self, fd: int | None = None, offset: int = 0) -> None:
        self._memory = mmap.mmap(-1, SIZE) if fd is None else mmap.mmap(os.dup(fd), offset + SIZE)
        begin = 0 if fd is None else offset
        self._cells = memoryview(self._memory)[begin : begin + SIZE].cast("Q")

    def get(self, tenant: int, user: str) -> int | None:
        """The mode's index; None where none is remembered."""
        key, at = _place(tenant, user)
        cell = self._cells[at]
        return (cell & _MODE) - 1 if cell & ~_MODE == key and cell & _MODE else None

    def set(self, tenant: int, user: str, mode: int) -> None:
        key, at = _place(tenant, user)
        self._cells[at] = key | mode + 1


def _place(tenant: int, user: str) -> tuple[int, int]:
    digest = blake2b(f"{tenant}/{user}".encode("utf-8", "surrogateescape"), digest_size=_CELL)
    number = int.from_bytes(digest.digest())
    return number & ~_MODE, (number >> 3) % _SLOTS
