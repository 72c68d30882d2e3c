"""What this process counts, under kube-apiserver's names, and the one place where a request is counted.

A request costs one look-up: everything that its labels decide is prepared at the first request of the same kind. A path that leads to no
resource counts without group, version and resource, so that nobody can make up series.
Source: k8s.io/apiserver ``endpoints/metrics``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.http.response import HttpResponseBase

from apiserver.endpoints.metric_types import Counter, Foreign, Gauge, Histogram, Metrics
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.respond import PartsResponse
from apiserver.kinds.base import ServedVersion
from apiserver.kinds.declarative import run as declarative
from apiserver.meta.gvk import GroupResource
from apiserver.registry import conversion

_SECONDS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0)
_BYTES = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
_WHAT = ("verb", "group", "version", "resource", "subresource", "scope")
_COMPONENT = "apiserver"
_MOST_SERIES = 20_000
"""The most kinds of requests, and of series, that are kept: who keeps making new custom resources must not fill the memory."""

REGISTRY = Metrics()
REQUESTS = Counter(
    "apiserver_request_total",
    "Requests by verb, dry run, resource and response code.",
    ("verb", "dry_run", *_WHAT[1:], "component", "code"),
)
DURATION = Histogram("apiserver_request_duration_seconds", "Response latency in seconds.", (*_WHAT, "component"), _SECONDS)
SIZES = Histogram("apiserver_response_sizes", "Response size in bytes, of GET and LIST.", (*_WHAT, "component"), _BYTES)
INFLIGHT = Gauge("apiserver_current_inflight_requests", "Requests being served, by kind.", ("request_kind",))
LONG_RUNNING = Gauge("apiserver_longrunning_requests", "Watches and other long-running requests.", (*_WHAT, "component"))
DEPRECATED = Gauge(
    "apiserver_requested_deprecated_apis",
    "Deprecated APIs that have been requested.",
    ("group", "version", "resource", "subresource", "removed_release"),
)
WATCH_EVENTS = Counter("apiserver_watch_events_total", "Events sent to watch clients.", ("group", "version", "resource"))
OBJECTS = Gauge("apiserver_resource_objects", "Stored objects of all tenants, by resource.", ("group", "resource"))
REGISTRY.metrics += [REQUESTS, DURATION, SIZES, INFLIGHT, LONG_RUNNING, DEPRECATED, WATCH_EVENTS, OBJECTS]
REGISTRY.metrics += [Foreign(*family) for family in declarative.METRICS]
REGISTRY.metrics.append(
    Foreign(
        "apiserver_conversion_webhook_request_total",
        "Calls of conversion webhooks by outcome.",
        ("result", "failure_type"),
        lambda: conversion.CALLS,
    )
)

_VERBS = {"create": "POST", "update": "PUT", "deletecollection": "DELETECOLLECTION"}
_READING = frozenset({"GET", "LIST"})
_KINDS = {"GET": ("readOnly",), "HEAD": ("readOnly",)}
_UNAVAILABLE = re.compile(r"unavailable in v(\d+\.\d+)")


class _Series:
    """Where requests of one kind are counted. request: labels of REQUESTS; durations, sizes: buckets and sum of the histograms."""

    __slots__ = ("durations", "request", "sizes")

    def __init__(self, request: tuple[str, ...], durations: list[float], sizes: list[float] | None) -> None:
        self.request, self.durations, self.sizes = request, durations, sizes


_series: dict[tuple[object, ...], _Series] = {}


def begin(request: ApiRequest) -> None:
    """Counts the request among those being served until `observe`; a watch is counted by `long_running` instead."""
    if request.info.verb != "watch":
        request.counted_as = _KINDS.get(request.method or "", ("mutating",))
        INFLIGHT.add(request.counted_as)


def observe(request: ApiRequest, response: HttpResponseBase | None, seconds: float) -> None:
    """Counts a request that has been answered. ``response``: None for one that was streamed; ``seconds``: how long it took."""
    if request.counted_as:
        INFLIGHT.values[request.counted_as] -= 1
    info = request.info
    code = 200 if response is None else response.status_code
    what = (info.verb, info.group, info.version, info.resource, info.subresource) if request.served is not None else (info.verb,)
    applies = info.verb == "patch" and request.raw_headers.get(b"content-type", b"").startswith(b"application/apply-patch")
    key = (what, info.namespace == "", info.name == "", code, "dryRun" in request.query and _dry_run(request), applies)
    series = _series.get(key)
    if series is None:
        series = _prepare(request, key, code)
    REQUESTS.values[series.request] += 1
    durations = series.durations
    durations[bisect_left(_SECONDS, seconds)] += 1
    durations[-1] += seconds
    if series.sizes is not None and response is not None:
        size = response.size if isinstance(response, PartsResponse) else len(response.content)  # type: ignore[attr-defined]
        series.sizes[bisect_left(_BYTES, size)] += 1
        series.sizes[-1] += size


def _prepare(request: ApiRequest, key: tuple[object, ...], code: int) -> _Series:
    what = _labels(request)
    if len(REQUESTS.values) >= _MOST_SERIES:
        what = (what[0], "", "", "", "", "")  # tenants come and go with their custom resources; the series they leave are bounded
    labels = (what[0], _dry_run(request), *what[1:], _COMPONENT, str(code))
    REQUESTS.values.setdefault(labels, 0)
    sizes = SIZES.counts((*what, _COMPONENT)) if what[0] in _READING else None
    made = _Series(labels, DURATION.counts((*what, _COMPONENT)), sizes)
    if len(_series) >= _MOST_SERIES:
        _series.clear()  # the counts stay; only the short way to them is found again
    _series[key] = made
    if request.served is not None and request.served.deprecated:
        _record_deprecated(request, request.served)
    return made


def _dry_run(request: ApiRequest) -> str:
    return "All" if "All" in request.query.get("dryRun", ()) else ""


def _record_deprecated(request: ApiRequest, served: ServedVersion) -> None:
    info = request.info
    found = _UNAVAILABLE.search(served.deprecated)
    DEPRECATED.set((info.group, info.version, info.resource, info.subresource, found[1] if found else ""), 1)


def _labels(request: ApiRequest) -> tuple[str, ...]:
    """verb, group, version, resource, subresource, scope."""
    info = request.info
    verb = _VERBS.get(info.verb, info.verb.upper())
    if verb == "PATCH" and request.header(b"content-type").startswith("application/apply-patch"):
        verb = "APPLY"
    if not info.is_resource or request.served is None:
        return (verb if verb in _KNOWN_VERBS else "other", "", "", "", "", "")
    where = "resource" if info.name else "namespace" if info.namespace else "cluster"
    return verb, info.group, info.version, info.resource, info.subresource, where


_KNOWN_VERBS = frozenset({"GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION", "HEAD", "OPTIONS"})


@contextmanager
def long_running(request: ApiRequest) -> Iterator[None]:
    """Counts a watch while it runs."""
    labels = (*_labels(request), _COMPONENT)
    LONG_RUNNING.add(labels)
    try:
        yield
    finally:
        LONG_RUNNING.add(labels, -1)


def set_objects(counts: Mapping[GroupResource, int]) -> None:
    """``counts``: all that is stored; a resource that is gone counts no more."""
    OBJECTS.values = {(resource.group, resource.resource): count for resource, count in counts.items()}
