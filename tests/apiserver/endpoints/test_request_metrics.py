"""Counting requests: upstream's labels, and no series that a client can make up."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse

from apiserver.endpoints import metrics
from apiserver.endpoints.request import ApiRequest
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant


def request(
    method: str, path: str, query: str = "", content_type: str = "", served: bool = True
) -> ApiRequest:
    async def receive() -> Any:
        raise AssertionError

    headers = [(b"content-type", content_type.encode())] if content_type else []
    scope = {
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "headers": headers,
        "query_string": query.encode(),
    }
    made = ApiRequest(scope, receive)
    if served:
        made.served = catalog.resources()[
            GroupResource(made.info.group, made.info.resource)
        ].versions[made.info.version]
    return made


def count(made: ApiRequest, code: int = 200) -> set[tuple[str, ...]]:
    """Labels of what one request added to."""
    metrics.fold()
    before = dict(metrics.ALL.requests.values)
    metrics.begin(made)
    metrics.observe(made, HttpResponse(b"{}", status=code), 0.01)
    metrics.fold()
    return {
        labels
        for labels, value in metrics.ALL.requests.values.items()
        if value != before.get(labels, 0)
    }


@pytest.mark.parametrize(
    ("made", "labels"),
    [
        (
            ("GET", "/api/v1/namespaces/a/configmaps/x"),
            ("GET", "", "", "v1", "configmaps", "", "resource"),
        ),
        (
            ("GET", "/api/v1/namespaces/a/configmaps"),
            ("LIST", "", "", "v1", "configmaps", "", "namespace"),
        ),
        (
            ("GET", "/apis/apps/v1/deployments"),
            ("LIST", "", "apps", "v1", "deployments", "", "cluster"),
        ),
        (
            ("POST", "/api/v1/namespaces/a/configmaps", "dryRun=All"),
            ("POST", "All", "", "v1", "configmaps", "", "resource"),
        ),
        (
            ("POST", "/apis/apps/v1/namespaces/a/deployments", "dryRun=All&dryRun=some"),
            ("POST", "invalid", "apps", "v1", "deployments", "", "resource"),
        ),
        (
            ("GET", "/api/v1/namespaces/a/configmaps", "fieldSelector=metadata.name%3Dx"),
            ("LIST", "", "", "v1", "configmaps", "", "namespace"),
        ),
        (
            ("GET", "/api/v1/namespaces/a/configmaps", "fieldSelector=metadata.name%3Dx&watch=1"),
            ("WATCH", "", "", "v1", "configmaps", "", "namespace"),
        ),
        (
            ("HEAD", "/api/v1/namespaces/a/configmaps/x"),
            ("GET", "", "", "v1", "configmaps", "", "resource"),
        ),
        (
            ("POST", "/api/v1/namespaces/a/pods/p/exec"),
            ("CONNECT", "", "", "v1", "pods", "exec", "resource"),
        ),
        (
            ("GET", "/api/v1/namespaces/a/pods/p/log"),
            ("CONNECT", "", "", "v1", "pods", "log", "resource"),
        ),
        (
            ("PUT", "/apis/apps/v1/namespaces/a/deployments/d/status"),
            ("PUT", "", "apps", "v1", "deployments", "status", "resource"),
        ),
        (
            ("DELETE", "/api/v1/namespaces/a/configmaps"),
            ("DELETE", "", "", "v1", "configmaps", "", "namespace"),
        ),
    ],
)
def test_labels(made: tuple[str, ...], labels: tuple[str, ...]) -> None:
    method, path, query = (*made, "")[:3]
    assert count(request(method, path, query)) == {(*labels, "apiserver", "200")}


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("GET", "/livez", ("GET", "/livez", "")),
        ("GET", "/readyz", ("GET", "/readyz", "")),
        ("HEAD", "/healthz", ("GET", "/healthz", "")),
        ("GET", "/healthz/ping", ("GET", "", "apiserver")),
        ("GET", "/apis", ("GET", "apis", "apiserver")),
        ("GET", "/api", ("GET", "api", "apiserver")),
        ("GET", "/apis/apps/v1", ("GET", "", "apiserver")),
        ("GET", "/openapi/v3", ("GET", "openapi/v3", "")),
        ("GET", "/openapi/v3/apis/apps/v1", ("GET", "openapi/v3/", "")),
        ("GET", "/clusters/acme/openapi/v3/api/v1", ("GET", "openapi/v3/", "")),
        ("GET", "/version", ("GET", "", "apiserver")),
        ("OPTIONS", "/version", ("other", "", "apiserver")),
    ],
)
def test_labels_of_what_is_no_object(method: str, path: str, told: tuple[str, str, str]) -> None:
    verb, subresource, component = told
    ((*labels, code),) = count(request(method, path, served=False))
    assert labels == [verb, "", "", "", "", subresource, "", component] and code == "200"


def test_documents_that_are_counted_apart_are_so_when_they_come_by_turns() -> None:
    before = {path: count(request("GET", path, served=False)) for path in ("/livez", "/readyz")}
    for path, labels in before.items():
        assert count(request("GET", path, served=False)) == labels
    assert before["/livez"] != before["/readyz"]


def test_apply_is_a_verb_of_its_own() -> None:
    path = "/api/v1/namespaces/a/configmaps/x"
    (applied,) = count(request("PATCH", path, content_type="application/apply-patch+yaml"))
    (merged,) = count(request("PATCH", path, content_type="application/merge-patch+json"))
    assert (applied[0], merged[0]) == ("APPLY", "PATCH")


def test_durations_tell_dry_runs_apart() -> None:
    path = "/api/v1/namespaces/a/configmaps"
    what = ("", "v1", "configmaps", "", "resource", "apiserver")
    for query, said in (("dryRun=All", "All"), ("", "")):
        before = list(metrics.ALL.durations.counts(("POST", said, *what)))
        count(request("POST", path, query), 298)
        after = metrics.ALL.durations.counts(("POST", said, *what))
        assert sum(after[:-1]) == sum(before[:-1]) + 1
    assert metrics.ALL.durations.labels == metrics.ALL.requests.labels[:-1]


def test_paths_that_lead_nowhere_make_one_series() -> None:
    seen = {
        labels
        for i in range(50)
        for labels in count(request("GET", f"/apis/g{i}/v1/things/x", served=False), 404)
    }
    assert len(seen) == 1 and "g1" not in str(seen)


def test_the_number_of_series_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics.ALL, "most", 0)
    ((verb, _, group, *_),) = count(
        request("GET", "/apis/apps/v1/namespaces/bounded/statefulsets/x"), 418
    )
    assert (verb, group) == ("GET", "")


def test_deprecated_versions_are_told() -> None:
    count(request("GET", "/api/v1/namespaces/a/endpoints/x"))
    assert metrics.ALL.deprecated.values["", "v1", "endpoints", "", ""] == 1


def test_nothing_is_in_flight_afterwards() -> None:
    made = request("POST", "/api/v1/namespaces/a/configmaps")
    before = metrics.ALL.inflight.values.get(("mutating",), 0)
    metrics.begin(made)
    assert metrics.ALL.inflight.values["mutating",] == before + 1
    metrics.observe(made, None, 0.1)
    assert metrics.ALL.inflight.values["mutating",] == before


def test_watches_are_counted_while_they_run() -> None:
    labels = ("WATCH", "", "v1", "configmaps", "", "namespace", "apiserver")
    with metrics.long_running(request("GET", "/api/v1/namespaces/a/configmaps", "watch=true")):
        assert metrics.ALL.long_running.values[labels] == 1
    assert metrics.ALL.long_running.values[labels] == 0


def test_a_watch_of_one_name_is_one_of_an_object_while_it_runs() -> None:
    labels = ("WATCH", "", "v1", "configmaps", "", "resource", "apiserver")
    query = "watch=true&fieldSelector=metadata.name%3Dx"
    with metrics.long_running(request("GET", "/api/v1/namespaces/a/configmaps", query)):
        assert metrics.ALL.long_running.values[labels] == 1


@pytest.mark.parametrize(
    ("path", "query", "namespace", "scope"),
    [
        ("/api/v1/configmaps", "", "", "cluster"),
        ("/api/v1/configmaps", "", "a", "namespace"),
        ("/api/v1/namespaces/a/configmaps", "", "", "namespace"),
        ("/api/v1/configmaps", "&fieldSelector=metadata.name%3Dx", "", "resource"),
    ],
)
def test_how_long_a_watch_list_took_is_told_by_what_it_lists(
    path: str, query: str, namespace: str, scope: str
) -> None:
    made = request("GET", path, f"watch=true&sendInitialEvents=true{query}")
    made.tenant = Tenant(11, "t11")
    made.began -= 3
    labels = ("", "v1", "configmaps", scope)
    for families in (metrics.ALL, metrics.of_tenant(11)):
        families.watch_lists.values.pop(labels, None)
    metrics.watch_listed(made, namespace)
    for families in (metrics.ALL, metrics.of_tenant(11)):
        *counts, seconds = families.watch_lists.counts(labels)
        assert sum(counts) == 1 and seconds >= 3
    metrics.forget(11)


def test_exposition() -> None:
    stored = {GroupResource("", "pods"): 12345678, GroupResource("apps", "deployments"): 5}
    metrics.ALL.set_objects(stored)
    text = b"".join(metrics.ALL.registry.expose()).decode()
    assert 'apiserver_resource_objects{group="",resource="pods"} 12345678\n' in text
    assert 'apiserver_storage_objects{resource="pods"} 12345678\n' in text
    assert 'apiserver_storage_objects{resource="deployments.apps"} 5\n' in text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rsplit(" ", 1)[1]) >= 0
    assert 'le="+Inf"' in text and "# TYPE apiserver_request_duration_seconds histogram" in text


def test_a_tenant_is_told_of_its_own_requests_only() -> None:
    path = "/api/v1/namespaces/a/configmaps/x"
    for tenant, code in ((7, 298), (8, 297)):
        made = request("GET", path)
        made.tenant = Tenant(tenant, f"t{tenant}")
        metrics.begin(made)
        metrics.enter(made)
        assert metrics.of_tenant(tenant).inflight.values["readOnly",] == 1
        metrics.observe(made, HttpResponse(b"{}", status=code), 0.01)
        metrics.EventCount(tenant, f"g{tenant}", "v1", "things").add(3)
    metrics.fold()
    seen = b"".join(metrics.of_tenant(7).registry.expose())
    assert (
        b'code="298"' in seen and b'group="g7"' in seen and b"297" not in seen and b"g8" not in seen
    )
    # counted for all tenants together
    assert b"conversion_webhook" not in seen and b"declarative" not in seen
    every = b"".join(metrics.ALL.registry.expose())
    assert all(
        text in every for text in (b'code="298"', b'code="297"', b'group="g7"', b'group="g8"')
    )
    metrics.forget(7)
    assert b"298" not in b"".join(metrics.of_tenant(7).registry.expose())
    assert b'code="298"' in b"".join(metrics.ALL.registry.expose())


def test_the_series_of_a_tenant_are_bounded() -> None:
    families = metrics.of_tenant(9)
    families.most = 20
    for i in range(200):
        made = request("GET", "/api/v1/namespaces/a/configmaps/x")
        made.tenant = Tenant(9, "t9")
        made.info = made.info._replace(group=f"g{i}", resource=f"r{i}")
        metrics.begin(made)
        metrics.enter(made)
        metrics.observe(made, HttpResponse(b"{}"), 0.01)
        with metrics.long_running(made):
            metrics.EventCount(9, f"g{i}", "v1", f"r{i}").add(1)
        metrics.watch_listed(made, "")
    for metric in (families.requests, families.long_running, families.watch_events):
        assert len(metric.values) <= families.most + 1
    assert len(families.watch_lists.values) <= families.most + 1
    assert (
        len(families.durations.values) <= families.most + 1
        and len(families.series) <= families.most
    )
