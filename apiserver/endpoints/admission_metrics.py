"""What is counted about admission plugins, under kube-apiserver's names (k8s.io/apiserver
``admission/metrics/metrics.go``).

A write passes many plugins, so each costs one look-up: what it adds waits in one place, for the
tenant and the installation alike, until somebody reads (`fold`).
"""

from __future__ import annotations

from bisect import bisect_left
from operator import add

from admission.chain import WHOLE
from apiserver.endpoints.metric_types import Histogram, Labels, Metric

_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_PREFIX = "apiserver_admission_"
_STEP = ("type", "operation", "rejected")


class AdmissionMetrics:
    """Of the installation, or of one tenant. Labels are few: names are those of plugins."""

    def __init__(self) -> None:
        self.steps = Histogram(
            f"{_PREFIX}step_admission_duration_seconds",
            "Seconds that all plugins together took in a step of admission.",
            _STEP,
            _SECONDS,
        )
        self.plugins = Histogram(
            f"{_PREFIX}controller_admission_duration_seconds",
            "Seconds that a plugin took in a step of admission.",
            ("name", *_STEP),
            _SECONDS,
        )
        self._waiting: dict[tuple[str, str, str, bool], list[float]] = {}

    @property
    def all(self) -> list[Metric]:
        return [self.steps, self.plugins]

    def took(self, name: str, step: str, operation: str, rejected: bool, seconds: float) -> None:
        """As `admission.chain.Took`."""
        key = (name, step, operation, rejected)
        cells = self._waiting.get(key)
        if cells is None:
            cells = self._waiting[key] = [0.0] * (len(_SECONDS) + 2)
        cells[bisect_left(_SECONDS, seconds)] += 1
        cells[-1] += seconds

    def fold(self, other: AdmissionMetrics) -> None:
        """Counts what waits, here and in the other, which is the installation's."""
        for (name, *step, rejected), cells in self._waiting.items():
            labels: Labels = (*step, str(rejected).lower())
            for metrics in (self, other):
                counts = (
                    metrics.steps.counts(labels)
                    if name == WHOLE
                    else metrics.plugins.counts((name, *labels))
                )
                counts[:] = map(add, counts, cells)
        self._waiting.clear()
