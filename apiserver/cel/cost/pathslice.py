"""Paths of the estimator with the memory of Go's slices.

cel-go makes the path of a member by appending to its operand's. Two members of one operand may then
share memory, so that the later path overwrites the earlier: in ``m.all(k, v, ...)`` keys may be
taken for values. Estimates that clients see depend on it.
"""

from __future__ import annotations


class PathSlice:
    """names: what it holds now. A slice with room left writes into the memory that it shares."""

    __slots__ = ("_length", "_store")

    def __init__(self, store: list[str], length: int) -> None:
        self._store = store
        self._length = length

    @classmethod
    def of(cls, *names: str) -> PathSlice:
        return cls(list(names), len(names))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._store[: self._length])

    def plus(self, name: str) -> PathSlice:
        """Go's append: in place while there is room, else in twice the room."""
        if self._length < len(self._store):
            self._store[self._length] = name
            return PathSlice(self._store, self._length + 1)
        grown = [*self._store, name, *[""] * (self._length - 1)]
        return PathSlice(grown, self._length + 1)


EMPTY = PathSlice([], 0)
