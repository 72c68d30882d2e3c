"""Counts evaluations of admission policies, for the tenant and so for the installation."""

from __future__ import annotations

from admission.policy.observer import Checked, Observer
from apiserver.endpoints import metrics
from apiserver.endpoints.policy_metrics import resource_of


class PolicyCounts(Observer):
    def checked(self, check: Checked, seconds: float, error: str, action: str) -> None:
        policies = metrics.of_tenant(check.tenant).policies
        if policies.is_full:
            metrics.fold()
        policies.checked(check, seconds, error, action)

    def failed(self, check: Checked, why: str) -> None:
        whose = (resource_of(check.kind), check.policy, check.binding)
        metrics.of_tenant(check.tenant).last_errors.failed(whose, why)
