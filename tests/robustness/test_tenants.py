"""Tenants from a template, of which some are there when everything is killed at once (workers,
supervisor, PostgreSQL): after the next start all become Ready, each with all that the template
says. TENANTS (of the environment) says how many."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from controlplane.database import conninfo
from controlplane.datadir import DataDir
from controlplane.embedded.server import database_settings
from tests.support.installation import Installation, alive, descendants, eventually
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

MANY = int(os.environ.get("TENANTS", "40"))
GROUP = "/apis/tenancy.polyplane.dev/v1"
SELECTED = f"{GROUP}/tenants?labelSelector=crash%3Dyes"
TEMPLATE: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}},
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "first", "namespace": "work"},
        "data": {"a": "b"},
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "team"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    },
]


def ready(installation: Installation) -> list[str]:
    """Names of the tenants that say that all is there."""
    status, found = installation.request("GET", SELECTED)
    assert status == 200, found
    return [t["metadata"]["name"] for t in found["items"] if is_ready(t)]


def is_ready(tenant: dict[str, Any]) -> bool:
    conditions = (tenant.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def post(installation: Installation, name: str) -> int:
    body = {
        "apiVersion": "tenancy.polyplane.dev/v1",
        "kind": "Tenant",
        "metadata": {"name": name, "labels": {"crash": "yes"}},
        "spec": {"templates": [{"name": "crash"}]},
    }
    status, _ = installation.request("POST", f"{GROUP}/tenants", body)
    return status


def stored(installation: Installation) -> dict[str, set[tuple[str, str]]]:
    """(resource, name) of what the template has made, by tenant: from the tables, because a request
    would fill each tenant with what all have."""
    found: dict[str, set[tuple[str, str]]] = {}
    with psycopg.connect(conninfo(database_settings(DataDir(installation.data)))) as connection:
        connection.execute("SELECT set_config('polyplane.tenant', 'all', true)")
        rows = connection.execute(
            "SELECT t.name, o.resource, o.name FROM objects o "
            "JOIN tenancy_tenant t ON t.id = o.tenant_id "
            "WHERE t.name LIKE 'crash-%' AND o.name IN ('first', 'team', 'work')"
        )
        for tenant, resource, name in rows:
            found.setdefault(tenant, set()).add((resource, name))
    return found


def kill_all(installation: Installation) -> None:
    assert installation.process is not None
    victims = [installation.process.pid, *descendants(installation.process.pid)]
    for pid in victims:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    installation.process.wait()
    eventually(lambda: not any(map(alive, victims)))


def test_tenants_of_a_template_become_ready_after_all_was_killed(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.start()
    try:
        served = eventually(lambda: installation.request("GET", f"{GROUP}/tenants")[0] == 200)
        assert served
        template = {
            "apiVersion": "tenancy.polyplane.dev/v1",
            "kind": "TenantTemplate",
            "metadata": {"name": "crash"},
            "spec": {"objects": TEMPLATE},
        }
        assert installation.request("POST", f"{GROUP}/tenanttemplates", template)[0] == 201
        names = [f"crash-{i}" for i in range(MANY)]
        with ThreadPoolExecutor(8) as clients:
            assert set(clients.map(lambda name: post(installation, name), names)) == {201}
        eventually(lambda: ready(installation))
        kill_all(installation)

        installation.start()
        within = max(PATIENCE, MANY / 10)
        eventually(lambda: len(ready(installation)) == MANY, within)
        whole = {("configmaps", "first"), ("clusterroles", "team"), ("namespaces", "work")}
        assert stored(installation) == dict.fromkeys(names, whole)
    finally:
        installation.stop()
