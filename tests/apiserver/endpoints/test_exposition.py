"""What a scrape gets: text that the strictest reader takes, with the metrics that kube-apiserver
1.36 calls stable or beta."""

from __future__ import annotations

import asyncio
import itertools
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.endpoints import flow_metrics, metrics, storage_size
from apiserver.endpoints.metric_types import Gauge, Histogram, Metrics
from apiserver.endpoints.storage_size import StorageSize
from apiserver.registry.flowcontrol import FlowControl
from apiserver.storage.errors import Unavailable
from apiserver.storage.postgres import PostgresStore
from apiserver.user import MASTERS, User
from tests.support.api import Api, serving
from tests.support.exposition import Family, Malformed, falls, read

MAPS = "/api/v1/namespaces/default/configmaps"
_WHAT = ("group", "version", "resource", "subresource")
_REQUEST = ("verb", "dry_run", *_WHAT, "scope", "component")
_LASTING = ("verb", *_WHAT, "scope", "component")
_SECONDS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15)
_STEP = ("operation", "rejected", "type")
_POLICY = ("enforcement_action", "error_type", "policy", "policy_binding")
_BOTH, _RELOAD = ("flow_schema", "priority_level"), ("apiserver_id_hash", "status")
_RELOADS = "config_controller_automatic_reload"
_BUILD = ("build_date", "git_commit", "git_tree_state", "git_version")
_COUNTER, _GAUGE = ("counter", ()), ("gauge", ())
_DEFAULT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
Shape = tuple[tuple[str, tuple[float, ...]], tuple[str, ...]]


def _histogram(*bounds: float) -> tuple[str, tuple[float, ...]]:
    return "histogram", bounds


STABLE: dict[str, Shape] = {
    "apiserver_admission_controller_admission_duration_seconds": (
        _histogram(0.005, 0.025, 0.1, 0.5, 1, 2.5),
        ("name", *_STEP),
    ),
    "apiserver_admission_step_admission_duration_seconds": (
        _histogram(0.005, 0.025, 0.1, 0.5, 1, 2.5),
        _STEP,
    ),
    "apiserver_admission_webhook_admission_duration_seconds": (
        _histogram(0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25),
        ("name", *_STEP),
    ),
    "apiserver_current_inflight_requests": (_GAUGE, ("request_kind",)),
    "apiserver_longrunning_requests": (_GAUGE, _LASTING),
    "apiserver_request_duration_seconds": (_histogram(*_SECONDS, 20, 30, 45, 60), _REQUEST),
    "apiserver_request_total": (_COUNTER, (*_REQUEST, "code")),
    "apiserver_requested_deprecated_apis": (_GAUGE, (*_WHAT, "removed_release")),
    "apiserver_response_sizes": (_histogram(1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9), _LASTING),
    "apiserver_storage_objects": (_GAUGE, ("resource",)),
    "apiserver_storage_size_bytes": (_GAUGE, ("storage_cluster_id",)),
    "kubernetes_healthcheck": (_GAUGE, ("name", "type")),
    "kubernetes_healthchecks_total": (_COUNTER, ("name", "status", "type")),
}
BETA: dict[str, Shape] = {
    f"apiserver_authentication_{_RELOADS}_last_timestamp_seconds": (_GAUGE, _RELOAD),
    f"apiserver_authentication_{_RELOADS}s_total": (_COUNTER, _RELOAD),
    f"apiserver_authorization_{_RELOADS}_last_timestamp_seconds": (_GAUGE, _RELOAD),
    f"apiserver_authorization_{_RELOADS}s_total": (_COUNTER, _RELOAD),
    "apiserver_cel_compilation_duration_seconds": (_histogram(*_DEFAULT), ()),
    "apiserver_cel_evaluation_duration_seconds": (_histogram(*_DEFAULT), ()),
    "apiserver_flowcontrol_current_executing_requests": (_GAUGE, _BOTH),
    "apiserver_flowcontrol_current_executing_seats": (_GAUGE, _BOTH),
    "apiserver_flowcontrol_current_inqueue_requests": (_GAUGE, _BOTH),
    "apiserver_flowcontrol_dispatched_requests_total": (_COUNTER, _BOTH),
    "apiserver_flowcontrol_nominal_limit_seats": (_GAUGE, ("priority_level",)),
    "apiserver_flowcontrol_rejected_requests_total": (_COUNTER, (*_BOTH, "reason")),
    "apiserver_flowcontrol_request_wait_duration_seconds": (
        _histogram(0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
        (*_BOTH, "execute"),
    ),
    "apiserver_storage_events_received_total": (_COUNTER, ("group", "resource")),
    "apiserver_validating_admission_policy_check_duration_seconds": (
        _histogram(5e-07, 0.001, 0.01, 0.1, 1),
        _POLICY,
    ),
    "apiserver_validating_admission_policy_check_total": (_COUNTER, _POLICY),
    "apiserver_validation_declarative_validation_mismatch_total": (_COUNTER, ()),
    "apiserver_validation_declarative_validation_panic_total": (_COUNTER, ()),
    "apiserver_watch_list_duration_seconds": (
        _histogram(0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60),
        ("group", "resource", "scope", "version"),
    ),
    "kubernetes_build_info": (
        _GAUGE,
        (*_BUILD, "compiler", "go_version", "major", "minor", "platform"),
    ),
    "kubernetes_feature_enabled": (_GAUGE, ("name", "stage")),
}
"""By kube-apiserver 1.36.2's own list (test/instrumentation/testdata/stable-metrics-list.yaml), but
for those that docs/compatibility.md says are missing."""
_OF_A_TENANT = {"apiserver_flowcontrol_nominal_limit_seats"}


async def whole(api: Api, path: str = "/metrics") -> dict[str, Family]:
    """As an operator's."""

    async def everybody(*_: Any) -> User:
        return User("root", groups=(MASTERS,), everywhere=True)

    async def home(*_: Any) -> str:
        return "default"

    tenant = api.server.directory.tenant
    known = {"tenant": tenant, "token": everybody, "home": home, "remembered": lambda *_: None}
    api.server.directory = cast(Any, SimpleNamespace(**known))
    status, text = await api("GET", path, authorization="Bearer pp_everything")
    assert status == 200
    return read(text.decode())


async def of_tenant(api: Api, path: str = "/clusters/default/metrics") -> dict[str, Family]:
    status, text = await api("GET", path)
    assert status == 200
    return read(text.decode())


async def some_of_all(api: Api) -> None:
    """Requests of each kind, and a watch list."""
    if api.server.flows is None:
        api.server.flows = FlowControl(api.registry.watches)
    await api.ok("POST", MAPS, {"metadata": {"name": "a"}})
    await api.ok("GET", f"{MAPS}/a")
    await api.ok("PUT", f"{MAPS}/a?dryRun=All", {"metadata": {"name": "a"}})
    await api("GET", f"{MAPS}/missing")
    await api("GET", "/no/such/thing")
    await api.ok("GET", "/readyz")
    watch = api.watch(f"{MAPS}?{LISTING}")
    assert [e["type"] for e in await watch.take(2)] == ["ADDED", "BOOKMARK"]
    await api.ok("DELETE", f"{MAPS}/a")
    assert (await watch.take(1))[0]["type"] == "DELETED"
    await watch.stop()


LISTING = "&".join(
    (
        "watch=true",
        "sendInitialEvents=true",
        "allowWatchBookmarks=true",
        "resourceVersionMatch=NotOlderThan",
    )
)


def shape(family: Family) -> Shape:
    bounds = sorted({float(dict(of)["le"]) for _, of in family.samples if "le" in dict(of)} - {inf})
    (labels,) = family.labels()
    return (family.kind, tuple(bounds)), tuple(sorted(labels))


async def test_a_scrape_is_read_by_the_strictest(store: PostgresStore, tenant: int) -> None:
    async with serving(store, tenant) as api:
        await some_of_all(api)
        for scrape in (whole, of_tenant):
            before = await scrape(api)
            await some_of_all(api)
            after = await scrape(api)
            assert not list(falls(before, after))
            moved = after["apiserver_request_total"].samples
            assert moved != before["apiserver_request_total"].samples
            assert await scrape(api, "/metrics/slis")
    metrics.forget(tenant)


async def test_it_has_what_kube_apiserver_calls_stable_or_beta(
    store: PostgresStore, tenant: int
) -> None:
    """What has no sample without a webhook, a policy or a file of settings is compared as it is
    declared."""
    wanted = STABLE | BETA
    async with serving(store, tenant) as api:
        await some_of_all(api)
        own = await of_tenant(api)
        told = {**await whole(api), **await whole(api, "/metrics/slis")}
    told |= {name: own[name] for name in _OF_A_TENANT}
    assert wanted.keys() <= told.keys()
    flows = flow_metrics.gather(api.server.flows, None)
    declared = {m.name: m for m in (*metrics.ALL.registry._metrics, *flows._metrics)}
    for name, ((kind, bounds), labels) in wanted.items():
        if told[name].samples:
            assert shape(told[name]) == ((kind, bounds), tuple(sorted(labels))), name
        else:
            metric = declared[name]
            assert (metric.kind, sorted(metric.labels)) == (kind, sorted(labels)), name
            if isinstance(metric, Histogram):
                assert metric.buckets == bounds, name
    metrics.forget(tenant)


async def test_a_watch_list_is_told_once_all_of_it_was_sent(
    store: PostgresStore, tenant: int
) -> None:
    def told() -> dict[tuple[str, ...], float]:
        cells = metrics.of_tenant(tenant).watch_lists.values
        return {labels: sum(cell[:-1]) for labels, cell in cells.items()}

    async with serving(store, tenant) as api:
        await api.ok("POST", MAPS, {"metadata": {"name": "a"}})
        plain = api.watch(f"{MAPS}?watch=true")
        await plain.take(1)
        assert not told(), "a watch that nobody is told the beginning of has none"
        listing = api.watch(
            f"/api/v1/configmaps?{LISTING}&fieldSelector=metadata.namespace%3Ddefault"
        )
        await listing.take(2)
        labels = ("", "v1", "configmaps", "namespace")
        await api.until(lambda: told() == {labels: 1})
        await api.ok("POST", MAPS, {"metadata": {"name": "b"}})
        await listing.take(1)
        assert told() == {labels: 1}
        for watch in (plain, listing):
            await watch.stop()
    metrics.forget(tenant)


async def test_events_are_told_to_the_tenant_and_of_the_installation(
    store: PostgresStore, tenant: int
) -> None:
    labels = ("", "configmaps")
    async with serving(store, tenant) as api:
        await api.ok("GET", MAPS)
        metrics.fold()
        before = metrics.ALL.received.values.get(labels, 0)
        await api.ok("POST", MAPS, {"metadata": {"name": "a"}})
        await api.ok("DELETE", f"{MAPS}/a")
        own = (await of_tenant(api))["apiserver_storage_events_received_total"].samples
    assert list(own.values()) == [2]
    assert metrics.ALL.received.values[labels] == before + 2
    metrics.forget(tenant)


async def test_how_large_the_database_is_concerns_no_tenant(
    store: PostgresStore, tenant: int
) -> None:
    async with serving(store, tenant) as api:
        own = await of_tenant(api)
        (value,) = (await whole(api))["apiserver_storage_size_bytes"].samples.values()
    assert "apiserver_storage_size_bytes" not in own
    assert value > 1_000_000  # an empty database has some seven MB
    metrics.forget(tenant)


class Slow:
    """A database whose answers are given by hand."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[int]] = []

    async def size(self) -> int:
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]


async def test_scrapes_ask_for_its_size_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count(0, 10)
    monkeypatch.setattr(storage_size, "monotonic", lambda: next(now))
    size, database, gauge = StorageSize(), Slow(), Gauge("size", "")
    monkeypatch.setattr(storage_size, "_PATIENCE", 0)
    for _ in range(3):
        await size.look(cast(Any, database), gauge)
    assert len(database.asked) == 1 and not gauge.values, "a scrape does not wait for long"
    database.asked[0].set_result(7)
    for _ in range(2):
        await size.look(cast(Any, database), gauge)
    assert list(gauge.values.values()) == [7] and len(database.asked) == 1
    for _ in range(20):
        await size.look(cast(Any, database), gauge)
    assert len(database.asked) == 2, "nor is it asked again before it has answered"
    database.asked[1].set_exception(Unavailable("gone"))
    await asyncio.sleep(0)
    await size.look(cast(Any, database), gauge)
    assert not gauge.values, "what is not known is not told"


@pytest.mark.parametrize(
    ("value", "text"), [(inf, "+Inf"), (-inf, "-Inf"), (float("nan"), "NaN"), (2.0, "2")]
)
def test_numbers_are_written_as_go_reads_them(value: float, text: str) -> None:
    written = Metrics()
    written.add(Gauge("g", "text")).set((), value)
    assert b"".join(written.expose()).decode().splitlines()[-1] == f"g {text}"


GOOD = "# HELP h text\n# TYPE h histogram\n" + "".join(
    (
        'h_bucket{a="x",le="1"} 1\n',
        'h_bucket{a="x",le="+Inf"} 2\n',
        'h_sum{a="x"} 3.5\n',
        'h_count{a="x"} 2\n',
    )
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('h_count{a="x"} 2\n', 'h_count{a="x"} 2'),
        ('h_count{a="x"} 2', 'h_count{a="x"} 3'),
        ('h_count{a="x"} 2\n', ""),
        ('le="1"} 1', 'le="1"} 3'),
        ('le="1"}', 'le="+Inf"}'),
        ('le="+Inf"', 'le="2"'),
        (
            'h_sum{a="x"}',
            'h_sum{a="x',
        ),
        ('h_sum{a="x"}', 'h_sum{b="x"}'),
        ('h_sum{a="x"}', 'h_sum{a="x",a="x"}'),
        ('h_sum{a="x"}', 'h_sum{a="\\x"}'),
        ("3.5", "-3.5"),
        ("3.5", "NaN"),
        ("3.5", "3.5 1"),
        ("3.5", "three"),
        ("3.5", "1_0"),
        ("h_sum", "h_total"),
        ("# HELP h text\n", ""),
        ("# TYPE h histogram\n", ""),
        ("# TYPE h histogram", "# TYPE h summary"),
        ("# TYPE h histogram", "# TYPE i histogram"),
        ("# HELP h text", "# HELP h"),
        ('h_sum{a="x"} 3.5\n', 'h_sum{a="x"} 3.5\nh_sum{a="x"} 3.5\n'),
        ('h_sum{a="x"} 3.5\n', 'h_sum{a="x"} 3.5\n\n'),
        ("# HELP h text\n", "# HELP h text\n# TYPE h gauge\nh 1\n# HELP h text\n"),
    ],
)
def test_the_reader_is_strict(old: str, new: str) -> None:
    assert read(GOOD)["h"].samples["h_sum", (("a", "x"),)] == 3.5
    assert GOOD.count(old) >= 1
    with pytest.raises(Malformed):
        read(GOOD.replace(old, new, 1))


def test_the_reader_sees_what_goes_back() -> None:
    before, less = read(GOOD), read(GOOD.replace("3.5", "3.4"))
    assert list(falls(before, less)) and not list(falls(less, before))
    assert len(list(falls(before, {}))) == 4
