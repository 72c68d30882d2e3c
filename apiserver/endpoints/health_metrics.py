"""What is counted of health checks, under kube-apiserver's names (k8s.io/component-base
``metrics/prometheus/slis``): the page /metrics/slis, apart from /metrics."""

from __future__ import annotations

import time

from apiserver.endpoints.metric_types import Chosen, Counter, Metrics

_BEGAN = time.time()


class HealthMetrics:
    """Of the installation, or of one tenant."""

    def __init__(self) -> None:
        self.registry = Metrics()
        self._latest = self.registry.add(
            Chosen(
                "kubernetes_healthcheck",
                "Whether a check passed when it was last made, by any worker.",
                ("name", "type"),
                max,
            )
        )
        self._total = self.registry.add(
            Counter(
                "kubernetes_healthchecks_total",
                "Checks by their results.",
                ("name", "type", "status"),
            )
        )
        began = self.registry.add(
            Chosen(
                "process_start_time_seconds",
                "When the first of the workers began, in seconds since 1970.",
                (),
                min,
            )
        )
        began.values[()] = [_BEGAN]

    def checked(self, name: str, root: str, *, passed: bool) -> None:
        """root: "livez", "readyz" or "healthz"."""
        self._latest.values[name, root] = [time.monotonic(), float(passed)]
        self._total.add((name, root, "success" if passed else "error"))
