"""How many bytes of objects the changes of one tenant have brought and replaced: by it the memory
that slow readers hold is bounded.

Readers share what they hold: events that wait for several watchers are one value, and so is a state
that several lists are made of. Whoever began to read when the turnover was ``t`` keeps alive at
most what has come and gone since, `since(t)`, beside what the caches keep anyway; and so do all who
began later, together with the first. When nobody may be further behind than a bound, the tenant's
readers hold no more.
"""

from __future__ import annotations


class Turnover:
    """bytes: since the tenant's tail began; bound: how far a watcher may be behind."""

    __slots__ = ("bound", "bytes")

    def __init__(self, bound: int) -> None:
        self.bytes = 0
        self.bound = bound

    def add(self, brought: int, replaced: int) -> None:
        self.bytes += brought + replaced

    def since(self, began: int) -> int:
        return self.bytes - began
