"""What is remembered, up to a number."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Newest(OrderedDict[K, V]):
    """The ``most`` that were kept last; ``move_to_end`` makes one count as kept just now."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: K, value: V) -> V | None:
        """The value that had to go for it, None where there was room."""
        self[key] = value
        self.move_to_end(key)
        return self.popitem(last=False)[1] if len(self) > self._most else None
