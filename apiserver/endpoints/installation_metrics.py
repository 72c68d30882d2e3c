"""What is counted of the installation only, for all tenants together, by parts of the program that
know neither tenants nor metrics: under kube-apiserver's names."""

from __future__ import annotations

from apiserver.audit import counts as audit
from apiserver.cel.kubernetes import timings
from apiserver.endpoints import identity_metrics, security_metrics
from apiserver.endpoints.metric_types import Foreign, ForeignHistogram, Metrics
from apiserver.kinds.declarative import run as declarative
from apiserver.registry import conversion


def add(metrics: Metrics) -> None:
    for family in declarative.METRICS:
        metrics.add(Foreign(*family))
    name, text = "conversion_webhook_request_total", "Calls of conversion webhooks by outcome."
    labels = ("result", "failure_type")
    metrics.add(Foreign(f"apiserver_{name}", text, labels, lambda: conversion.CALLS))
    _add_audit(metrics)
    _add_rules(metrics)
    identity_metrics.add(metrics)
    security_metrics.add(metrics)


def _add_audit(metrics: Metrics) -> None:
    text = "Audit events that were made."
    metrics.add(Foreign("apiserver_audit_event_total", text, (), lambda: audit.EVENTS))
    text = "Audit events that were lost, by who should have taken them."
    metrics.add(Foreign("apiserver_audit_error_total", text, ("plugin",), lambda: audit.LOST))
    text = "Requests by the level at which the audit policy keeps them."
    metrics.add(Foreign("apiserver_audit_level_total", text, ("level",), lambda: audit.LEVELS))


def _add_rules(metrics: Metrics) -> None:
    for name, text, times in (
        ("compilation", "Seconds to compile the rules of a part of a schema.", timings.COMPILED),
        (
            "evaluation",
            "Seconds to evaluate rules on a value and what is below it.",
            timings.EVALUATED,
        ),
    ):
        name = f"apiserver_cel_{name}_duration_seconds"
        metrics.add(ForeignHistogram(name, text, timings.SECONDS, times.total))
