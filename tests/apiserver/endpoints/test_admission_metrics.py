"""What plugins took, by upstream's names, of a tenant and of the installation."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from admission.chain import Chain
from admission.plugins.namespacelifecycle import NamespaceLifecycle
from apiserver.endpoints import metrics
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving

STEP = "apiserver_admission_step_admission_duration_seconds"
PLUGIN = "apiserver_admission_controller_admission_duration_seconds"
MAPS = "/api/v1/namespaces/ns/configmaps"


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as served:
        await served.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "ns"}})
        served.registry.chain = Chain([NamespaceLifecycle()], metrics.plugins_took)
        yield served


def told(of: metrics.Families) -> dict[str, float]:
    metrics.fold()
    text = b"".join(of.registry.expose()).decode()
    return {k: float(v) for k, v in re.findall(r"^(apiserver_admission\S*) (\S+)$", text, re.M)}


async def test_writes_are_counted_by_what_came_of_them(api: Api) -> None:
    own = metrics.of_tenant(api.tenant.id)
    await api.ok("POST", MAPS, {"metadata": {"name": "one"}})
    missing = MAPS.replace("/ns/", "/missing/")
    assert (await api("POST", missing, {"metadata": {"name": "one"}}))[0] == 404
    await api("GET", MAPS)
    found = told(own)
    for labels, count in (
        ('type="admit",operation="CREATE",rejected="false"', 1),
        ('type="admit",operation="CREATE",rejected="true"', 1),
    ):
        assert found[f"{STEP}_count{{{labels}}}"] == count
        assert found[f'{PLUGIN}_count{{name="NamespaceLifecycle",{labels}}}'] == count
        assert f'{STEP}_bucket{{{labels},le="2.5"}}' in found
    assert f'{STEP}_count{{type="validate",operation="CREATE",rejected="false"}}' in found
    every = told(metrics.ALL)
    assert all(every[key] >= value for key, value in found.items() if key in every)
    assert set(found) <= set(every)


async def test_what_is_counted_is_counted_once(api: Api) -> None:
    await api.ok("POST", MAPS, {"metadata": {"name": "two"}})
    first, second = (told(metrics.of_tenant(api.tenant.id)) for _ in range(2))
    assert first == second
