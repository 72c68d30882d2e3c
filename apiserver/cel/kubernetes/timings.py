"""How long it takes to compile rules of schemas and to evaluate them, under kube-apiserver's names
(k8s.io/apiserver ``cel/metrics``): counted by whatever thread does it, shown by
`apiserver.endpoints.installation_metrics`."""

from __future__ import annotations

from bisect import bisect_left
from threading import get_ident
from typing import Final

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds of the buckets: those of Prometheus' clients where nobody says otherwise."""
_EMPTY: Final = [0.0] * (len(SECONDS) + 2)


class Times:
    """A number for each of `SECONDS`, what was above, and the sum, for each thread: only it adds to
    them. So nobody locks, no count is lost between two, and a thread may be ended at any place; the
    next that has its number goes on with what it has counted."""

    def __init__(self) -> None:
        self._threads: dict[int, list[float]] = {}

    def of_thread(self) -> list[float]:
        """This one's, for `observe`; not to be kept."""
        ident = get_ident()
        return self._threads.get(ident) or self._threads.setdefault(ident, _EMPTY.copy())

    def total(self) -> list[float]:
        """Of all threads."""
        return [sum(column) for column in zip(_EMPTY, *self._threads.copy().values(), strict=True)]


def observe(cells: list[float], seconds: float) -> None:
    """``cells``: `Times.of_thread`."""
    cells[bisect_left(SECONDS, seconds)] += 1
    cells[-1] += seconds


COMPILED: Final = Times()
"""apiserver_cel_compilation_duration_seconds: once for all rules of one place of a schema."""
EVALUATED: Final = Times()
"""apiserver_cel_evaluation_duration_seconds: once for each value that rules reach or that has such
below it, and with the time of those below."""
