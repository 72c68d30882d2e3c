"""Counts what admission plugins do, for the tenant and so for the installation."""

from __future__ import annotations

from admission.observer import Observer, Took
from apiserver.endpoints import metrics


class AdmissionCounts(Observer):
    def of(self, tenant: int) -> Took:
        return metrics.of_tenant(tenant).admission.took
