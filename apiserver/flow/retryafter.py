"""How many seconds a client is told to stay away that could not be served: more, the more there
were lately (k8s.io/apiserver ``util/flowcontrol/dropped_requests_tracker.go``)."""

from __future__ import annotations

from collections import deque

_MOST = 32


class RetryAfter:
    """Of one priority level. seconds: what clients are told now."""

    __slots__ = ("_changed", "_count", "_history", "_second", "seconds")

    def __init__(self) -> None:
        self.seconds = 1
        self._history: deque[tuple[int, int]] = deque()
        """(second, how many were dropped in it)."""
        self._second = self._count = self._changed = 0

    def dropped(self, now: float) -> None:
        """One more, ``now`` in seconds since 1970."""
        second = int(now)
        if second == self._second:
            self._count += 1
            return
        self._history.append((self._second, self._count))
        oldest = self._second - min(2 * self.seconds, _MOST)
        while self._history and self._history[0][0] < oldest:
            self._history.popleft()
        self._second, self._count = second, 1
        self._adjust(second)

    def _adjust(self, now: int) -> None:
        recent = sum(count for at, count in self._history if now - self.seconds <= at < now)
        if now - self._changed >= self.seconds and recent >= 3 * self.seconds:
            self.seconds = min(2 * self.seconds, _MOST)
            self._changed = now
        elif recent < self.seconds and self.seconds > 1:
            self.seconds -= 1
