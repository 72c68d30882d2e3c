"""How many bytes of objects the changes of one tenant have brought and replaced: by it the memory
that slow readers hold is bounded.

Readers share what they hold: events that wait for several watchers are one value, and so is a state
that several lists are made of. Whoever began to read when the turnover was ``t`` keeps alive at
most what has come and gone since, `since(t)`, beside what the caches keep anyway; and so do all who
began later, together with the first. When nobody may be further behind than `max_unread`, the
tenant's readers hold no more.
"""

from __future__ import annotations


class Turnover:
    """bytes: since the tenant's tail began; max_unread: how far a reader may be behind."""

    __slots__ = ("bytes", "max_unread")

    def __init__(self, max_unread: int) -> None:
        self.bytes = 0
        self.max_unread = max_unread

    def add(self, brought: int, replaced: int) -> None:
        self.bytes += brought + replaced

    def since(self, began: int) -> int:
        return self.bytes - began
