"""What the workers of one machine serve for each tenant at this moment, counted together in memory
that they share.

Every worker has a column of its own, which nobody else writes, and a row belongs to one tenant at a
time: to take is to count in one's own cell and then to add up the row, so that of workers that take
at once none is let in above the limit (both may be refused). A worker holds its column by a lock on
a byte of the file, which ends with the process; who gets the column next begins at zero.

Where there is no row left, or no column, a worker counts what it serves itself, alone.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections import Counter

COLUMNS = 64
_KINDS = 2
_ROWS = 4096
_ROW = 1 + _KINDS * COLUMNS
"""Cells of a row: the tenant's number, then a cell for each kind and worker."""
_CELL = 8  # bytes
_USED = _ROWS * _ROW
"""The cell that says how many columns have ever been held."""
SIZE = (_USED + 1) * _CELL
REQUESTS, WATCHES = range(_KINDS)


Taken = int | tuple[int, int]
"""What is to be given back: the cell in which it is counted, or (tenant, kind) where the worker
counts alone."""


class Shares:
    """``fd``: of a file with SIZE bytes from ``offset`` on, zeros at first; None: this process is
    the only one."""

    def __init__(self, fd: int | None = None, offset: int = 0) -> None:
        self._fd, self._offset = fd, offset
        self._memory = mmap.mmap(-1, SIZE) if fd is None else mmap.mmap(os.dup(fd), offset + SIZE)
        self._cells = memoryview(self._memory)[0 if fd is None else offset :].cast("Q")
        self._alone: Counter[tuple[int, int]] = Counter()
        self._column = self._claim()

    def take(self, tenant: int, kind: int, limit: int) -> Taken | None:
        """Counts one more; None where that would be more than ``limit``."""
        cells, row = self._cells, tenant % _ROWS * _ROW
        if self._column is None or (cells[row] != tenant and not self._settle(row, tenant)):
            return self._take_alone(tenant, kind, limit)
        first = row + 1 + kind * COLUMNS
        own = first + self._column
        cells[own] += 1
        if cells[row] != tenant:  # another worker has given the row away just now
            cells[own] -= 1
            return self._take_alone(tenant, kind, limit)
        if sum(cells[first : first + cells[_USED]]) > limit:
            cells[own] -= 1
            return None
        return own

    def give_back(self, taken: Taken) -> None:
        if isinstance(taken, int):
            self._cells[taken] -= 1
            return
        self._alone[taken] -= 1
        if not self._alone[taken]:
            del self._alone[taken]

    def served(self, tenant: int, kind: int) -> int:
        """How many the workers serve now."""
        row = tenant % _ROWS * _ROW
        first = row + 1 + kind * COLUMNS
        counted = sum(self._cells[first : first + COLUMNS]) if self._cells[row] == tenant else 0
        return counted + self._alone[tenant, kind]

    def _take_alone(self, tenant: int, kind: int, limit: int) -> Taken | None:
        if self._alone[tenant, kind] >= limit:
            return None
        self._alone[tenant, kind] += 1
        return tenant, kind

    def _settle(self, row: int, tenant: int) -> bool:
        """Gives the row to the tenant, unless something of another one is being served."""
        cells = self._cells
        self._lock(fcntl.LOCK_EX)
        try:
            before = cells[row]
            if before == tenant:
                return True
            if any(cells[row + 1 : row + _ROW]):
                return False
            cells[row] = tenant
            if any(cells[row + 1 : row + _ROW]):  # it was taken while this looked
                cells[row] = before
                return False
            return True
        finally:
            self._lock(fcntl.LOCK_UN)

    def _lock(self, operation: int) -> None:
        if self._fd is not None:
            fcntl.lockf(self._fd, operation, 1, self._offset + COLUMNS)

    def _claim(self) -> int | None:
        """The first column that no living process has, as it was at the beginning."""
        if self._fd is None:
            self._cells[_USED] = 1
            return 0
        for column in range(COLUMNS):
            try:
                fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._offset + column)
            except OSError:
                continue
            for row in range(0, _USED, _ROW):
                for kind in range(_KINDS):
                    self._cells[row + 1 + kind * COLUMNS + column] = 0
            self._lock(fcntl.LOCK_EX)
            self._cells[_USED] = max(self._cells[_USED], column + 1)
            self._lock(fcntl.LOCK_UN)
            return column
        return None
