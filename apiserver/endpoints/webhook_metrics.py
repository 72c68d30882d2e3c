"""What is counted about admission webhooks, under kube-apiserver's names (k8s.io/apiserver
``admission/metrics/metrics.go``)."""

from __future__ import annotations

from admission.webhooks.observer import NO_ERROR, Called
from apiserver.endpoints.metric_types import Counter, Histogram, Labels, Metric

_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
_HIGHEST = 600
_PREFIX = "apiserver_admission_"
DURATIONS = f"{_PREFIX}webhook_admission_duration_seconds"
REJECTIONS = f"{_PREFIX}webhook_rejection_count"
FAILED_OPEN = f"{_PREFIX}webhook_fail_open_count"
CONFIGURATIONS = {
    "admit": "mutatingwebhookconfigurations",
    "validating": "validatingwebhookconfigurations",
}
"""The resource of a webhook, by `Called.step`."""
DENIED = NO_ERROR
"""The error_type of what a webhook itself has refused."""
_CALL = ("name", "type", "operation")
_CONDITION = ("name", "kind", "type", "operation")


class WebhookMetrics:
    """Of the installation, or of one tenant. most: series of each; what would be one too many
    counts without the webhook's name, which tenants choose."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.durations = Histogram(
            DURATIONS,
            "Latency of calls of admission webhooks in seconds.",
            (*_CALL, "rejected"),
            _SECONDS,
        )
        self.requests = Counter(
            f"{_PREFIX}webhook_request_total",
            "Calls of admission webhooks by HTTP status.",
            (*_CALL, "code", "rejected"),
        )
        self.rejections = Counter(
            REJECTIONS,
            "Requests that an admission webhook, or its failure, has refused.",
            (*_CALL, "error_type", "rejection_code"),
        )
        self.failed_open = Counter(
            FAILED_OPEN,
            "Calls of admission webhooks that failed and were ignored.",
            ("name", "type"),
        )
        self.exclusions = Counter(
            f"{_PREFIX}match_condition_exclusions_total",
            "Requests that a match condition has kept from a webhook.",
            _CONDITION,
        )
        self.condition_errors = Counter(
            f"{_PREFIX}match_condition_evaluation_errors_total",
            "Match conditions that could not be evaluated.",
            _CONDITION,
        )

    @property
    def all(self) -> list[Metric]:
        return [
            self.durations,
            self.requests,
            self.rejections,
            self.failed_open,
            self.exclusions,
            self.condition_errors,
        ]

    def called(self, call: Called, seconds: float, code: int, *, rejected: bool) -> None:
        said, place = str(rejected).lower(), (call.name, call.step, call.operation)
        self._add(self.requests, (*place, str(min(code, _HIGHEST)), said))
        labels = (*place, said)
        if labels not in self.durations.values and len(self.durations.values) >= self.most:
            labels = ("", *labels[1:])
        self.durations.observe(labels, seconds)

    def rejected(self, call: Called, error: str, code: int) -> None:
        place = (call.name, call.step, call.operation)
        self._add(self.rejections, (*place, error, str(min(code, _HIGHEST))))

    def opened(self, call: Called) -> None:
        self._add(self.failed_open, (call.name, call.step))

    def excluded(self, call: Called) -> None:
        self._add(self.exclusions, (call.name, "webhook", call.step, call.operation))

    def conditions_failed(self, call: Called) -> None:
        self._add(self.condition_errors, (call.name, "webhook", call.step, call.operation))

    def _add(self, counter: Counter, labels: Labels) -> None:
        if labels not in counter.values and len(counter.values) >= self.most:
            labels = ("", *labels[1:])
        counter.add(labels)
