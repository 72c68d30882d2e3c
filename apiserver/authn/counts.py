"""What this process has counted of authentication, under kube-apiserver's names
(`apiserver.endpoints.metrics` shows it). Labels are results and hashes of issuers, never names."""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left
from collections.abc import Sequence

from apiserver.identity import server_id_hash

Counts = dict[tuple[str, ...], float]
Times = dict[tuple[str, ...], list[float]]
"""Seconds since 1970, one in each list."""

ATTEMPTS: Counts = {("success",): 0, ("failure",): 0, ("error",): 0}
"""authentication_attempts: a failure is who shows nothing where that is not enough, an error who
shows what is not good."""
USERS: Counts = {}
"""authenticated_user_requests, by what stands for names of people: `KNOWN` ones stand for
themselves (k8s.io/apiserver ``endpoints/filters/metrics.go``)."""
KNOWN = {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}
DURATIONS: dict[tuple[str, ...], list[float]] = {}
"""authentication_duration_seconds, by result: a number for each of
`apiserver.authorizers.counts.DOUBLING`, what was above, and the sum."""
LEGACY: dict[str, Counts] = {
    kind: {(): 0} for kind in ("tokens", "manual_token_uses", "auto_token_uses", "invalid")
}
"""Uses of tokens from secrets: serviceaccount_legacy_*_total, and serviceaccount_
invalid_legacy_auto_token_uses_total (kubernetes ``pkg/serviceaccount/metrics.go``)."""
_HOUR, _DAY = 3600.0, 86400.0
REMAINING = (
    *(0.0, _HOUR / 2, _HOUR, 2 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 4 * _DAY, 7 * _DAY, 30 * _DAY, 90 * _DAY, 180 * _DAY, 360 * _DAY),
)
EXPIRATION: dict[tuple[str, ...], list[float]] = {(): [0.0] * (len(REMAINING) + 2)}
"""apiserver_client_certificate_expiration_seconds: how long client certificates were still good; a
number for each of `REMAINING`, what was above, and the sum."""
FETCHED: Counts = {}
"""apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds."""
RELOADS: Counts = {}
"""apiserver_authentication_config_controller_automatic_reloads_total, by status and server."""
RELOADED: Times = {}
"""apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds, likewise."""
WEBHOOK: Counts = {}
"""apiserver_delegated_authn_request_total: questions to the token webhook, by code."""
SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
LATENCY: dict[tuple[str, ...], list[float]] = {}
"""apiserver_authentication_jwt_authenticator_latency_seconds: a number for each of `SECONDS`, what
was above, and the sum."""
_MOST = 1_000
"""Series of each: issuers of tenants are many."""


def used_legacy(kind: str) -> None:
    LEGACY[kind][()] += 1


def certificate(seconds: float) -> None:
    """One that a client has shown is good for so long; below 0 where it has ended."""
    observe(EXPIRATION, REMAINING, (), seconds)


def fetched(result: str, issuer: str) -> None:
    key = result, issuer_hash(issuer)
    if key in FETCHED or len(FETCHED) < _MOST:
        FETCHED[key] = time.time()


def reloaded(status: str) -> None:
    count_reload(RELOADS, RELOADED, status)


def count_reload(counts: Counts, times: Times, status: str) -> None:
    """Of a file that this server follows. status: "success" or "failure"."""
    key = status, server_id_hash()
    counts[key] = counts.get(key, 0) + 1
    times[key] = [time.time()]


def asked_webhook(code: str) -> None:
    WEBHOOK[code,] = WEBHOOK.get((code,), 0) + 1


def took(result: str, issuer: str, seconds: float) -> None:
    """``issuer``: its hash."""
    known = (result, issuer) in LATENCY or len(LATENCY) < _MOST
    observe(LATENCY, SECONDS, (result, issuer if known else ""), seconds)


def observe(
    cells: dict[tuple[str, ...], list[float]],
    bounds: Sequence[float],
    place: tuple[str, ...],
    value: float,
) -> None:
    """Counts a value in a histogram. cells: by labels, a number for each of the bounds, what was
    above, and the sum."""
    cell = cells.setdefault(place, [0.0] * (len(bounds) + 2))
    cell[bisect_left(bounds, value)] += 1
    cell[-1] += value


def issuer_hash(issuer: str) -> str:
    return f"sha256:{hashlib.sha256(issuer.encode('utf-8', 'replace')).hexdigest()}"
