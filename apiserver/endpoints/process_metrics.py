"""What this server is, under kube-apiserver's names: the same for every worker and every tenant
(k8s.io/component-base ``metrics/version.go`` and ``metrics/prometheus/feature``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apiserver.endpoints.metric_types import Known, Metrics
from apiserver.meta import features

_LABELS = {
    "major": "major",
    "minor": "minor",
    "git_version": "gitVersion",
    "git_commit": "gitCommit",
    "git_tree_state": "gitTreeState",
    "build_date": "buildDate",
    "go_version": "goVersion",
    "compiler": "compiler",
    "platform": "platform",
}
"""Members of /version."""


def expose(version: Mapping[str, str]) -> Iterator[bytes]:
    """Lines. version: what /version says."""
    metrics = Metrics()
    text = "What the page /version says."
    build = metrics.add(Known("kubernetes_build_info", text, tuple(_LABELS)))
    build.set(tuple(version[member] for member in _LABELS.values()), 1)
    text = "Feature gates by their stage (none: GA): 1 where one is on."
    gates = metrics.add(Known("kubernetes_feature_enabled", text, ("name", "stage")))
    for name, gate in features.GATES.items():
        gates.set((name, gate.stage), float(features.enabled(name)))
    return metrics.expose()
