"""What is counted of Pod Security (`admission.podsecurity.counts`), of the installation only."""

from __future__ import annotations

from admission.podsecurity import counts
from apiserver.endpoints.metric_types import Counter, Metrics

_ABOUT = ("request_operation", "resource", "subresource")
_COUNTERS = (
    (
        "evaluations",
        "Pods and what makes them, held against the level of a mode.",
        ("decision", "policy_level", "policy_version", "mode", *_ABOUT),
        counts.EVALUATIONS,
    ),
    ("exemptions", "Requests that are exempt from Pod Security.", _ABOUT, counts.EXEMPTIONS),
    (
        "errors",
        "Namespaces that could not be read, and those whose labels are wrong.",
        ("fatal", *_ABOUT),
        counts.ERRORS,
    ),
)


def add(metrics: Metrics) -> None:
    for name, text, labels, values in _COUNTERS:
        metrics.add(Counter(f"pod_security_{name}_total", text, labels)).values = values
