"""What is counted about admission policies, under kube-apiserver's names (k8s.io/apiserver
``policy/{validating,mutating}/metrics``).

A request may be about many policies, so an evaluation costs one look-up: what it adds waits in one
place, for the tenant and the installation alike, until somebody reads (`fold`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from admission.policy.observer import Checked
from apiserver.endpoints.metric_types import Foreign, Histogram, Labels, Metric

_SECONDS = (0.0000005, 0.001, 0.01, 0.1, 1.0)
_KINDS = ("validating", "mutating")
_LABELS = ("policy", "policy_binding", "error_type", "enforcement_action")
"""Upstream's for mutating policies are without the last one: an error refuses, or is ignored."""


class PolicyMetrics:
    """Of the installation, or of one tenant. most: series of each kind; what would be one too many
    counts without the names of policy and binding, which tenants choose."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.durations = {kind: _durations(kind) for kind in _KINDS}
        self._waiting: dict[tuple[str, Labels], list[float]] = {}

    @property
    def all(self) -> list[Metric]:
        return [m for durations in self.durations.values() for m in (_total(durations), durations)]

    @property
    def is_full(self) -> bool:
        """Whether `fold` has to come before more is counted."""
        return len(self._waiting) >= self.most

    def checked(self, check: Checked, seconds: float, error: str, action: str) -> None:
        """As `admission.policy.observer.Observer.checked`."""
        labels = (check.policy, check.binding, error, action)
        cells = self._waiting.get((check.kind, labels))
        if cells is None:
            cells = self._waiting[check.kind, labels] = [0.0] * (len(_SECONDS) + 2)
        cells[bisect_left(_SECONDS, seconds)] += 1
        cells[-1] += seconds

    def fold(self, other: PolicyMetrics) -> None:
        """Counts what waits, here and in the other, which is the installation's."""
        for (kind, labels), cells in self._waiting.items():
            for metrics in (self, other):
                metrics._add(metrics.durations[kind], labels, cells)
        self._waiting.clear()

    def _add(self, durations: Histogram, labels: Labels, cells: list[float]) -> None:
        if labels not in durations.values and len(durations.values) >= self.most:
            labels = ("", "", *labels[2:])
        counts = durations.counts(labels)
        counts[:] = (count + more for count, more in zip(counts, cells, strict=True))


def name_of(kind: str) -> str:
    """Of the histogram of policies of the kind."""
    return f"apiserver_{kind}_admission_policy_check_duration_seconds"


def resource_of(kind: str) -> str:
    """Of policies of the kind."""
    return f"{kind}admissionpolicies"


def _durations(kind: str) -> Histogram:
    text = f"Seconds that evaluations of {kind} admission policies took."
    return Histogram(name_of(kind), text, _LABELS, _SECONDS)


def _total(durations: Histogram) -> Metric:
    """The histogram knows how many there were."""

    def count() -> Mapping[Labels, float]:
        return {labels: sum(cells[:-1]) for labels, cells in durations.values.items()}

    name = durations.name.replace("duration_seconds", "total")
    text = durations.text.replace("Seconds that evaluations", "Evaluations").removesuffix(" took.")
    return Foreign(name, f"{text}.", durations.labels, count)
