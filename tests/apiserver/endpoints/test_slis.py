"""/metrics/slis: what health checks have found, as component-base's ``metrics/prometheus/slis``
tells it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from apiserver.endpoints import metrics
from apiserver.endpoints.views.health import CHECKS
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving

ROOTS = ("livez", "readyz", "healthz")


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as served:
        served.server.started = True
        yield served


async def told(api: Api, path: str = "/metrics/slis") -> dict[str, float]:
    status, text = await api("GET", path)
    assert status == 200
    assert api.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {k: float(v) for k, v in re.findall(r"^([^#\s]\S*) (\S+)$", text.decode(), re.M)}


def last(name: str, root: str) -> str:
    return f'kubernetes_healthcheck{{name="{name}",type="{root}"}}'


def total(name: str, root: str, status: str = "success") -> str:
    return f'kubernetes_healthchecks_total{{name="{name}",type="{root}",status="{status}"}}'


@pytest.mark.parametrize("root", ROOTS)
async def test_a_root_endpoint_counts_each_of_its_checks(api: Api, root: str) -> None:
    before = await told(api)
    assert set(before) == {"process_start_time_seconds"}
    for _ in range(2):
        assert (await api("GET", f"/{root}"))[0] == 200
    found = await told(api)
    assert {k: v for k, v in found.items() if k not in before} == {
        key: value
        for name in CHECKS[root]
        for key, value in ((last(name, root), 1.0), (total(name, root), 2.0))
    }


async def test_what_is_excluded_and_what_is_asked_for_alone_does_not_count(api: Api) -> None:
    await api("GET", "/livez?exclude=log&exclude=etcd")
    for name in ("log", "nothing"):
        await api("GET", f"/livez/{name}")
    found = await told(api)
    assert found[total("ping", "livez")] == 1
    assert not [key for key in found if '"log"' in key or '"etcd"' in key or "nothing" in key]


async def test_a_check_that_fails(api: Api) -> None:
    await api("GET", "/readyz")
    api.server.leaving = True
    assert (await api("GET", "/readyz"))[0] == 500
    found = await told(api)
    assert found[last("shutdown", "readyz")] == 0
    assert found[total("shutdown", "readyz", "error")] == 1
    assert found[total("shutdown", "readyz")] == 1, "what it counted before stays"
    assert found[last("ping", "readyz")] == 1
    api.server.leaving = False
    await api("GET", "/readyz")
    assert (await told(api))[last("shutdown", "readyz")] == 1


async def test_they_stand_on_a_page_of_their_own(api: Api) -> None:
    await api("GET", "/livez")
    assert not [key for key in await told(api, "/metrics") if "healthcheck" in key]
    for path in ("/metrics/slis/", "/metrics/sli", "/metrics/slis/livez"):
        assert (await api("GET", path))[0] == 404
    assert "/metrics/slis" in (await api.ok("GET", "/"))["paths"]


async def test_a_tenant_sees_what_it_has_asked_for_and_the_installation_all(api: Api) -> None:
    await api("GET", "/livez")
    metrics.checked(4712, "ping", "livez", passed=True)
    assert (await told(api))[total("ping", "livez")] == 1
    every = b"".join(metrics.ALL.health.registry.expose()).decode()
    assert float(every.partition(total("ping", "livez"))[2].split()[0]) >= 2


async def test_other_workers_are_told_too(api: Api) -> None:
    await api("GET", "/livez")
    for number in (0, api.tenant.id):
        snapshot = metrics.snapshot(number)
        assert ("ping", "livez", "success") in dict(snapshot["kubernetes_healthchecks_total"])
        assert ("ping", "livez") in dict(snapshot["=kubernetes_healthcheck"])
