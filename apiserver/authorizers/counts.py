"""What this process has counted of authorization, under kube-apiserver's names
(`apiserver.endpoints.metrics` shows it to those who may see the installation). Labels are the names
that the operator has given to authorizers, and results.

Source: k8s.io/apiserver ``authorization/{metrics,cel}``, ``endpoints/filters/metrics.go``,
``plugin/pkg/authorizer/webhook/metrics``.
"""

from __future__ import annotations

from apiserver.authn.counts import Times, count_reload, observe

Labels = tuple[str, ...]
TYPE = "Webhook"

DECISIONS: dict[Labels, float] = {}
"""apiserver_authorization_decisions_total, by type, name and decision."""
ATTEMPTS: dict[Labels, float] = {}
"""authorization_attempts_total, by result."""
DOUBLING = tuple(0.001 * 2**i for i in range(15))
ATTEMPT_DURATIONS: dict[Labels, list[float]] = {}
"""authorization_duration_seconds, by result: a number for each of `DOUBLING`, what was above, and
the sum."""
RELOADS: dict[Labels, float] = {}
"""apiserver_authorization_config_controller_automatic_reloads_total, by status and server."""
RELOADED: Times = {}
"""apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds, likewise."""
EVALUATIONS: dict[Labels, float] = {}
"""apiserver_authorization_webhook_evaluations_total, by name and result."""
FAILED_OPEN: dict[Labels, float] = {}
"""apiserver_authorization_webhook_evaluations_fail_open_total, by name and result."""
EXCLUSIONS: dict[Labels, float] = {}
"""apiserver_authorization_match_condition_exclusions_total, by type and name."""
CONDITION_ERRORS: dict[Labels, float] = {}
"""apiserver_authorization_match_condition_evaluation_errors_total, by type and name."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
DURATIONS: dict[Labels, list[float]] = {}
"""apiserver_authorization_webhook_duration_seconds: a number for each of `SECONDS`, what was above,
and the sum."""
CONDITION_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)
CONDITION_DURATIONS: dict[Labels, list[float]] = {}
"""apiserver_authorization_match_condition_evaluation_seconds, likewise."""


def decided(of_type: str, name: str, *, allowed: bool) -> None:
    """By an authorizer of the chain; one that leaves it to the next decides nothing."""
    _add(DECISIONS, (of_type, name, "allowed" if allowed else "denied"))


def reloaded(status: str) -> None:
    """status: "success" or "failure"."""
    count_reload(RELOADS, RELOADED, status)


def asked(name: str, result: str, seconds: float) -> None:
    """One try. result: "success", "timeout", "error" or "canceled"."""
    _add(EVALUATIONS, (name, result))
    observe(DURATIONS, SECONDS, (name, result), seconds)


def failed_open(name: str, result: str) -> None:
    """Nobody was asked in the end, and others decide."""
    _add(FAILED_OPEN, (name, result))


def conditions_took(name: str, seconds: float) -> None:
    observe(CONDITION_DURATIONS, CONDITION_SECONDS, (TYPE, name), seconds)


def excluded(name: str) -> None:
    _add(EXCLUSIONS, (TYPE, name))


def condition_failed(name: str) -> None:
    _add(CONDITION_ERRORS, (TYPE, name))


def _add(counts: dict[Labels, float], place: Labels) -> None:
    counts[place] = counts.get(place, 0) + 1
