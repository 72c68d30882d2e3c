"""What this process counts, under kube-apiserver's names, and the one place where a request is
counted.

Everything is counted twice: for the whole installation, which only its operators may see, and for
the tenant, whose users see nothing else. What a tenant has counted is forgotten with its caches. A
request costs one look-up: everything that its labels decide is prepared at the first request of the
same kind, and what it adds waits there until somebody reads (`fold`). A path that leads to no
resource counts without group, version and resource, and what would be one series too many as well,
so that nobody can fill the memory with series. Source: k8s.io/apiserver ``endpoints/metrics``.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

from django.http.response import HttpResponseBase

from admission.chain import Took
from apiserver.endpoints import (
    installation_metrics,
    last_errors,
    request_labels,
    slow_requests,
)
from apiserver.endpoints.admission_metrics import AdmissionMetrics
from apiserver.endpoints.health_metrics import HealthMetrics
from apiserver.endpoints.metric_peers import EVERYTHING
from apiserver.endpoints.metric_types import (
    Counter,
    Gauge,
    Histogram,
    Known,
    Labels,
    Metrics,
    Snapshot,
)
from apiserver.endpoints.policy_metrics import PolicyMetrics
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.respond import PartsResponse
from apiserver.endpoints.slow_requests import SlowRequests
from apiserver.endpoints.webhook_metrics import WebhookMetrics
from apiserver.kinds.served import ServedVersion
from apiserver.meta.gvk import GroupResource
from apiserver.watch.tail import take_received

REQUESTS = "apiserver_request_total"
DURATIONS = "apiserver_request_duration_seconds"
INFLIGHT = "apiserver_current_inflight_requests"
LASTING = "apiserver_longrunning_requests"
LAG = "polyplane_log_tail_lag_versions"
BOUNDS = (
    0.005,
    0.025,
    0.05,
    0.1,
    0.2,
    0.4,
    0.6,
    0.8,
    1.0,
    1.25,
    1.5,
    2.0,
    3.0,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    15.0,
    20.0,
    30.0,
    45.0,
    60.0,
)
_BYTES = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
_WATCH_LIST_BOUNDS = (0.05, *BOUNDS[3:9], 2.0, 4.0, *BOUNDS[15:])
_RESOURCE = ("group", "version", "resource")
_READ_ONLY, _MUTATING = ("readOnly",), ("mutating",)
_READING_KINDS = {"GET": _READ_ONLY, "HEAD": _READ_ONLY}
_MOST_SERIES = 20_000
"""The most kinds of requests that are kept for the installation, and of each other metric."""
_MOST_OF_TENANT = 1_000
"""The same for one tenant."""


class Families:
    """The metrics of the installation, or of one tenant. most: how many series a metric may have;
    series: by kinds of requests, those of the installation and of the tenant; due: monotonic time
    from which the objects are to be counted again."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.series: dict[tuple[object, ...], _Series] = {}
        self.due = 0.0
        self.registry = Metrics()
        labels, add = request_labels.NAMES, self.registry.add
        dry_too = (labels[0], "dry_run", *labels[1:])
        text = "Requests by verb, dry run, resource and response code."
        self.requests = add(Counter(REQUESTS, text, (*dry_too, "code")))
        text = "Response latency in seconds."
        self.durations = add(Histogram(DURATIONS, text, dry_too, BOUNDS))
        text = "Response size in bytes, of GET and LIST."
        self.sizes = add(Histogram("apiserver_response_sizes", text, labels, _BYTES))
        text = "Requests being served, by kind."
        self.inflight = add(Gauge(INFLIGHT, text, ("request_kind",)))
        self.inflight.values = dict.fromkeys((_READ_ONLY, _MUTATING), 0.0)
        text = "Watches and other long-running requests."
        self.long_running = add(Gauge(LASTING, text, labels))
        self.deprecated = add(
            Known(
                "apiserver_requested_deprecated_apis",
                "Deprecated APIs that have been requested.",
                ("group", "version", "resource", "subresource", "removed_release"),
            )
        )
        self._add_events()
        text = "Stored objects, by resource."
        self.objects = add(Known("apiserver_resource_objects", text, ("group", "resource")))
        text = "The same, by the older name."
        self.stored = add(Known("apiserver_storage_objects", text, ("resource",)))
        self.webhooks, self.policies = WebhookMetrics(most), PolicyMetrics(most)
        self.admission = AdmissionMetrics()
        for metric in (*self.admission.all, *self.webhooks.all, *self.policies.all):
            add(metric)
        self.last_errors = last_errors.LastErrors(most)
        self.health = HealthMetrics()

    def _add_events(self) -> None:
        text, what, add = "Events sent to watch clients.", _RESOURCE, self.registry.add
        self.watch_events = add(Counter("apiserver_watch_events_total", text, what))
        text = "Seconds to send all that a watch begins with."
        name, labels = "apiserver_watch_list_duration_seconds", (*what, "scope")
        self.watch_lists = add(Histogram(name, text, labels, _WATCH_LIST_BOUNDS))
        text = "Events that a worker has read of the log of a tenant, or written, by resource."
        name = "apiserver_storage_events_received_total"
        self.received = add(Counter(name, text, ("group", "resource")))

    def room(self, metric: Counter | Histogram, labels: Labels) -> bool:
        """Whether the metric may have a series of these labels."""
        return labels in metric.values or len(metric.values) < self.most

    def set_objects(self, counts: Mapping[GroupResource, int]) -> None:
        """``counts``: all that is stored; a resource that is gone counts no more."""
        self.objects.values = {
            (resource.group, resource.resource): count for resource, count in counts.items()
        }
        self.stored.values = {(str(resource),): count for resource, count in counts.items()}


ALL = Families(_MOST_SERIES)
installation_metrics.add(ALL.registry)
lag = ALL.registry.add(
    Gauge(
        LAG,
        "Versions by which a worker's caches were behind the log of a tenant, of the one that was "
        "most behind when the worker last looked; the sum of all workers.",
    )
)
"""To be set by who reads: the watches know it."""
storage_size = ALL.registry.add(
    Known(
        "apiserver_storage_size_bytes",
        "Bytes that the database takes on its disk.",
        ("storage_cluster_id",),
    )
)
"""`apiserver.endpoints.storage_size` sets it."""
slow = SlowRequests()
_tenants: dict[int, Families] = {}
_scraped: dict[int, None] = {}
_MOST_SCRAPED = 1_000
"""Tenants whose counts are kept because somebody has asked for them, the latest."""


def of_tenant(number: int) -> Families:
    """What has been counted for the tenant; 0: for requests that got to none."""
    families = _tenants.get(number)
    if families is None:
        families = _tenants[number] = Families(_MOST_OF_TENANT)
    return families


def plugins_took(tenant: int) -> Took:
    """Who counts how long admission plugins take for a request of the tenant."""
    return of_tenant(tenant).admission.took


def forget(number: int) -> None:
    """Nobody uses the tenant at present; its counts begin anew with its next request, unless
    somebody has asked for them: what was shown does not go back."""
    if number not in _scraped:
        fold()
        _tenants.pop(number, None)


def snapshot(number: int) -> Snapshot:
    """What this process has counted for the installation (0) or a tenant."""
    fold()
    if number == EVERYTHING:
        slowest = {slow_requests.NAME: slow.cells()}
        return ALL.registry.snapshot() | ALL.health.registry.snapshot() | slowest
    _scraped.pop(number, None)
    _scraped[number] = None
    if len(_scraped) > _MOST_SCRAPED:
        del _scraped[next(iter(_scraped))]
    families = of_tenant(number)
    errors = {last_errors.NAME: families.last_errors.cells()}
    return families.registry.snapshot() | families.health.registry.snapshot() | errors


_READING = frozenset({"GET", "LIST"})


class _Counts(NamedTuple):
    """Where requests of one kind are counted. requests: of the installation or a tenant; labels: in
    them; durations, sizes: buckets and sum of the histograms."""

    requests: dict[Labels, float]
    labels: Labels
    durations: list[float]
    sizes: list[float] | None


class _Series:
    """Requests of one kind by one tenant. both: where they are counted, for the installation and
    for the tenant, once `fold` comes by: until then hits, durations and sizes have them."""

    __slots__ = ("both", "durations", "hits", "sizes")

    def __init__(self, both: tuple[_Counts, _Counts]) -> None:
        self.both = both
        self._begin()

    def _begin(self) -> None:
        self.hits = 0
        self.durations = [0.0] * len(self.both[0].durations)
        self.sizes = [0.0] * len(self.both[0].sizes or ())

    def fold(self) -> None:
        for place in self.both:
            place.requests[place.labels] += self.hits
            _add(place.durations, self.durations)
            if place.sizes is not None:
                _add(place.sizes, self.sizes)
        self._begin()


def _add(cells: list[float], others: list[float]) -> None:
    cells[:] = map(operator.add, cells, others)


_unfolded: list[_Series] = []
"""Each once: those that have counted something since the last `fold`."""


def fold() -> None:
    """To be called before anybody reads what requests have counted."""
    for series in _unfolded:
        series.fold()
    _unfolded.clear()
    for families in _tenants.values():
        families.policies.fold(ALL.policies)
        families.admission.fold(ALL.admission)
    for tenant, events in take_received().items():
        for place in (ALL, _tenants.get(tenant)):
            if place is not None:
                _add_received(place, events)


def _add_received(families: Families, events: Mapping[GroupResource, int]) -> None:
    for resource, number in events.items():
        values, labels = _bounded(families, families.received, tuple(resource))
        values[labels] = values.get(labels, 0) + number


def begin(request: ApiRequest) -> None:
    """Counts the request among those being served until `observe`; a watch is counted by
    `long_running` instead."""
    if request.info.verb != "watch":
        kind = request.counted_as = _READING_KINDS.get(request.method or "", _MUTATING)
        ALL.inflight.values[kind] += 1


def enter(request: ApiRequest) -> None:
    """The request has got to its tenant."""
    if request.counted_as:
        values = request.counted_in = of_tenant(request.tenant.id).inflight.values
        values[request.counted_as] += 1


def observe(request: ApiRequest, response: HttpResponseBase | None, seconds: float) -> None:
    """Counts a request that has been answered. ``response``: None for one that was streamed;
    ``seconds``: how long it took."""
    if request.counted_as:
        ALL.inflight.values[request.counted_as] -= 1
        if request.counted_in is not None:
            request.counted_in[request.counted_as] -= 1
    info = request.info
    code = 200 if response is None else response.status_code
    key = (
        info.family if request.served is not None else (info.verb, *request_labels.document(info)),
        code,
        "dryRun" in request.query and _dry_run(request),
        info.verb == "patch" and _applies(request),
    )
    slow.answered(request, request.streamed_code if response is None else code, seconds)
    families = of_tenant(request.tenant.id)
    series = families.series.get(key) or _prepare(families, request, key, code)
    if not series.hits:
        _unfolded.append(series)
    series.hits += 1
    durations = series.durations
    durations[bisect_left(BOUNDS, seconds)] += 1
    durations[-1] += seconds
    if series.sizes and response is not None:
        size = response.size if isinstance(response, PartsResponse) else len(response.content)  # type: ignore[attr-defined]
        series.sizes[bisect_left(_BYTES, size)] += 1
        series.sizes[-1] += size


def checked(tenant: int, name: str, root: str, *, passed: bool) -> None:
    """A health check that the root endpoint has made; ``tenant``: of the request."""
    for families in (ALL, of_tenant(tenant)):
        families.health.checked(name, root, passed=passed)


def _applies(request: ApiRequest) -> bool:
    return request.raw_headers.get(b"content-type", b"").startswith(b"application/apply-patch")


def _prepare(tenant: Families, request: ApiRequest, key: tuple[object, ...], code: int) -> _Series:
    what = _labels(request)
    series = _Series((_counts(ALL, request, what, code), _counts(tenant, request, what, code)))
    if len(tenant.series) >= tenant.most:
        fold()
        tenant.series.clear()  # the counts stay; only the short way to them is found again
    tenant.series[key] = series
    if request.served is not None and request.served.deprecated:
        for families in (ALL, tenant):
            _record_deprecated(families, request, request.served)
    return series


def _counts(families: Families, request: ApiRequest, what: Labels, code: int) -> _Counts:
    dry_run = _dry_run(request)
    labels = (what[0], dry_run, *what[1:], str(code))
    if not families.room(families.requests, labels):
        what = request_labels.unnamed(what)
        labels = (what[0], dry_run, *what[1:], str(code))
    families.requests.values.setdefault(labels, 0)
    sizes = families.sizes.counts(what) if what[0] in _READING else None
    durations = families.durations.counts(labels[:-1])
    return _Counts(families.requests.values, labels, durations, sizes)


def _dry_run(request: ApiRequest) -> str:
    return request_labels.dry_run(request.query.get("dryRun"))


def _record_deprecated(families: Families, request: ApiRequest, served: ServedVersion) -> None:
    info = request.info
    labels = (info.group, info.version, info.resource, info.subresource, served.removed_release)
    if families.room(families.deprecated, labels):
        families.deprecated.set(labels, 1)


def _labels(request: ApiRequest, *, named: bool = False) -> Labels:
    applies = request.info.verb == "patch" and _applies(request)
    return request_labels.labels(request, applies=applies, named=named)


@contextmanager
def long_running(request: ApiRequest) -> Iterator[None]:
    """Counts a watch while it runs."""
    labels = _labels(request, named=True)
    gauges = [
        _bounded(families, families.long_running, labels)
        for families in (ALL, of_tenant(request.tenant.id))
    ]
    for values, own in gauges:
        values[own] = values.get(own, 0) + 1
    try:
        yield
    finally:
        for values, own in gauges:
            values[own] -= 1


def watch_listed(request: ApiRequest, namespace: str) -> None:
    """All that the watch begins with has been sent. ``namespace``: as for the labels."""
    seconds = monotonic() - request.began
    labels = request_labels.watch_list_labels(request.info, namespace)
    for families in (ALL, of_tenant(request.tenant.id)):
        there = families.room(families.watch_lists, labels)
        families.watch_lists.observe(labels if there else ("",) * len(labels), seconds)


class EventCount:
    """Counts what one watch sends."""

    def __init__(self, tenant: int, group: str, version: str, resource: str) -> None:
        labels = (group, version, resource)
        self._counters = [
            _bounded(families, families.watch_events, labels)
            for families in (ALL, of_tenant(tenant))
        ]

    def add(self, events: int) -> None:
        for values, labels in self._counters:
            values[labels] = values.get(labels, 0) + events


def _bounded(
    families: Families, metric: Counter, labels: Labels
) -> tuple[dict[Labels, float], Labels]:
    """Where to count, and under which labels: under none when there are too many."""
    return metric.values, labels if families.room(metric, labels) else ("",) * len(labels)
