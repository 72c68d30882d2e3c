"""What is counted about who comes and what they may do, of the installation only: authentication
(`apiserver.authn.counts`) and authorization (`apiserver.authorizers.counts`)."""

from __future__ import annotations

from apiserver.authn import counts as authn
from apiserver.authorizers import counts as authorizers
from apiserver.endpoints.metric_types import Chosen, Counter, Histogram, Known, Metrics

_PREFIX = "apiserver_authorization_"
_OF_QUESTION, _OF_CONDITION = ("name", "result"), ("type", "name")


def add(metrics: Metrics) -> None:
    _authentication(metrics)
    _reloads(metrics, "authentication", authn.RELOADS, authn.RELOADED)
    _reloads(metrics, "authorization", authorizers.RELOADS, authorizers.RELOADED)
    name, text = "authorization_attempts_total", "Requests by what authorization has said."
    metrics.add(Counter(name, text, ("result",))).values = authorizers.ATTEMPTS
    name, text = "authorization_duration_seconds", "Time to authorize a request."
    durations = metrics.add(Histogram(name, text, ("result",), authorizers.DOUBLING))
    durations.values = authorizers.ATTEMPT_DURATIONS
    for name, text, labels, values in _COUNTERS:
        metrics.add(Counter(_PREFIX + name, text, labels)).values = values
    for name, text, labels, bounds, cells in _HISTOGRAMS:
        metrics.add(Histogram(_PREFIX + name, text, labels, bounds)).values = cells


_COUNTERS = (
    (
        "decisions_total",
        "Decisions by the authorizer that has made them.",
        ("type", "name", "decision"),
        authorizers.DECISIONS,
    ),
    (
        "webhook_evaluations_total",
        "Questions to authorization webhooks.",
        _OF_QUESTION,
        authorizers.EVALUATIONS,
    ),
    (
        "webhook_evaluations_fail_open_total",
        "Failures of authorization webhooks after which others decided.",
        _OF_QUESTION,
        authorizers.FAILED_OPEN,
    ),
    (
        "match_condition_exclusions_total",
        "Questions that a match condition has kept from a webhook.",
        _OF_CONDITION,
        authorizers.EXCLUSIONS,
    ),
    (
        "match_condition_evaluation_errors_total",
        "Questions whose match conditions could not be evaluated.",
        _OF_CONDITION,
        authorizers.CONDITION_ERRORS,
    ),
)
_HISTOGRAMS = (
    (
        "webhook_duration_seconds",
        "Latency of questions to authorization webhooks.",
        _OF_QUESTION,
        authorizers.SECONDS,
        authorizers.DURATIONS,
    ),
    (
        "match_condition_evaluation_seconds",
        "Time to evaluate the match conditions of an authorization webhook.",
        _OF_CONDITION,
        authorizers.CONDITION_SECONDS,
        authorizers.CONDITION_DURATIONS,
    ),
)


def _reloads(metrics: Metrics, of: str, counts: authn.Counts, times: authn.Times) -> None:
    """Of the file that configures authentication or authorization."""
    prefix, labels = f"apiserver_{of}_config_controller_", ("status", "apiserver_id_hash")
    name, text = "automatic_reloads_total", f"Times that the {of} configuration was read anew."
    metrics.add(Counter(prefix + name, text, labels)).values = counts
    name, text = "automatic_reload_last_timestamp_seconds", "When that was so last."
    metrics.add(Chosen(prefix + name, text, labels, max)).values = times


def _authentication(metrics: Metrics) -> None:
    name, text = "authentication_attempts", "Authenticated requests, and those that were not."
    metrics.add(Counter(name, text, ("result",))).values = authn.ATTEMPTS
    name, text = "authenticated_user_requests", "Authenticated requests by the kind of user."
    metrics.add(Counter(name, text, ("username",))).values = authn.USERS
    name, text = "authentication_duration_seconds", "Time to find out who sends a request."
    durations = metrics.add(Histogram(name, text, ("result",), authorizers.DOUBLING))
    durations.values = authn.DURATIONS
    prefix = "apiserver_authentication_"
    name = f"{prefix}jwt_authenticator_latency_seconds"
    text, labels = (
        "Time to authenticate a JWT that is not remembered.",
        ("result", "jwt_issuer_hash"),
    )
    metrics.add(Histogram(name, text, labels, authn.SECONDS)).values = authn.LATENCY
    name = f"{prefix}jwt_authenticator_jwks_fetch_last_timestamp_seconds"
    text = "When the keys of an issuer were last fetched, by result."
    metrics.add(Known(name, text, labels)).values = authn.FETCHED
    name, text = "apiserver_delegated_authn_request_total", "Questions to the token webhook."
    metrics.add(Counter(name, text, ("code",))).values = authn.WEBHOOK
    name = "apiserver_client_certificate_expiration_seconds"
    text = "How much longer the certificates were good that requests came with."
    metrics.add(Histogram(name, text, (), authn.REMAINING)).values = authn.EXPIRATION
    for kind, name, text in _LEGACY:
        metrics.add(Counter(f"serviceaccount_{name}_total", text, ())).values = authn.LEGACY[kind]


_LEGACY = (
    ("tokens", "legacy_tokens", "Uses of service account tokens from secrets."),
    ("manual_token_uses", "legacy_manual_token_uses", "Uses of those that somebody asked for."),
    ("auto_token_uses", "legacy_auto_token_uses", "Uses of those that nobody asked for."),
    ("invalid", "invalid_legacy_auto_token_uses", "Uses of those that are marked as invalid."),
)
