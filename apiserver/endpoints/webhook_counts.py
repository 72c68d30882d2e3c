"""Counts calls of admission webhooks for the installation and for the tenant."""

from __future__ import annotations

from admission.webhooks.observer import Called, Observer
from apiserver.endpoints import metrics
from apiserver.endpoints.webhook_metrics import CONFIGURATIONS, WebhookMetrics


def _both(call: Called) -> tuple[WebhookMetrics, WebhookMetrics]:
    return metrics.ALL.webhooks, metrics.of_tenant(call.tenant).webhooks


class WebhookCounts(Observer):
    def called(self, call: Called, seconds: float, code: int, *, rejected: bool) -> None:
        for families in _both(call):
            families.called(call, seconds, code, rejected=rejected)

    def rejected(self, call: Called, error: str, code: int) -> None:
        for families in _both(call):
            families.rejected(call, error, code)

    def failed(self, call: Called, why: str) -> None:
        whose = (CONFIGURATIONS[call.step], call.name)
        metrics.of_tenant(call.tenant).last_errors.failed(whose, why)

    def failed_open(self, call: Called) -> None:
        for families in _both(call):
            families.opened(call)

    def excluded(self, call: Called) -> None:
        for families in _both(call):
            families.excluded(call)

    def conditions_failed(self, call: Called) -> None:
        for families in _both(call):
            families.conditions_failed(call)
