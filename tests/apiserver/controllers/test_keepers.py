"""The smaller controllers, with the controllers of a worker over the database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
import pytest_asyncio

from apiserver.controllers import accountsecrets, aggregatedroles, manager
from apiserver.controllers.manager import Controllers
from apiserver.meta.objects import Object
from apiserver.registry.changes import Edit
from apiserver.registry.scope import Tenant
from apiserver.registry.update import update
from apiserver.registry.write import Request
from apiserver.storage.postgres import PostgresStore
from tests.support.definitionworker import Worker

ROLES = ("rbac.authorization.k8s.io", "clusterroles")
JOBS, SECRETS, ACCOUNTS = ("batch", "jobs"), ("", "secrets"), ("", "serviceaccounts")


def controllers(worker: Worker, store: PostgresStore) -> Controllers:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    return Controllers(worker.registry, store.database, tenant_of, "test", worker.controller)


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    for module in (aggregatedroles, accountsecrets):
        monkeypatch.setattr(module, "SETTLE", 0.02)
    monkeypatch.setattr(manager, "SETTLE", 0.02)
    some = controllers(worker, store)
    yield worker
    await some.stop()


def rule(resource: str) -> Object:
    return {"apiGroups": [""], "resources": [resource], "verbs": ["get"]}


def aggregated(name: str, part: str, **labels: str) -> Object:
    selectors = [{"matchLabels": {"part-of": part}}]
    return {
        "metadata": {"name": name, "labels": labels},
        "aggregationRule": {"clusterRoleSelectors": selectors},
    }


async def resources(worker: Worker, role: str) -> list[str]:
    obj = await worker.get(ROLES, role)
    assert obj is not None
    return [resource for r in obj.get("rules") or () for resource in r["resources"]]


async def until_resources(worker: Worker, role: str, *expected: str) -> None:
    async def equal() -> bool:
        return await resources(worker, role) == list(expected)

    await worker.until_true(equal)


async def test_roles_gather_the_rules_of_others(kept: Worker) -> None:
    await kept.create(ROLES, aggregated("all", "all"))
    await kept.create(ROLES, aggregated("some", "some", **{"part-of": "all"}))
    labels = {"part-of": "some"}
    await kept.create(ROLES, {"metadata": {"name": "p", "labels": labels}, "rules": [rule("pods")]})
    await until_resources(kept, "all", "pods")
    await kept.change(ROLES, "p", lambda role: role.update(rules=[rule("nodes")]))
    await until_resources(kept, "all", "nodes")
    await kept.delete(ROLES, "p")
    await until_resources(kept, "all")


async def test_the_sweep_gathers_what_a_dead_process_left(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.create(ROLES, aggregated("all", "x"))
    labels = {"part-of": "x"}
    await worker.create(
        ROLES, {"metadata": {"name": "p", "labels": labels}, "rules": [rule("pods")]}
    )
    successor = controllers(worker, store)
    await successor.sweep()
    await until_resources(worker, "all", "pods")
    await successor.stop()


def job(ttl: int | None, *conditions: Object) -> Object:
    container = {"name": "c", "image": "i"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    more = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    return {
        "metadata": {"name": "j"},
        "spec": {"template": template, **more},
        "status": {"conditions": list(conditions)},
    }


def finished(time: str = "2026-01-01T00:00:00Z") -> Object:
    return {"type": "Complete", "status": "True", "lastTransitionTime": time}


async def test_a_job_goes_when_its_time_is_over(kept: Worker, store: PostgresStore) -> None:
    await kept.create(JOBS, job(60))

    def end(obj: Object) -> None:
        obj["status"] = {
            "startTime": "2026-01-01T00:00:00Z",
            "completionTime": "2026-01-01T00:00:00Z",
            "succeeded": 1,
            "conditions": [
                {**finished(), "type": "SuccessCriteriaMet"},
                finished(),
            ],
        }

    await _status(kept, end)

    async def marked() -> bool:
        obj = await kept.get(JOBS, "j")
        return obj is None or "deletionTimestamp" in obj["metadata"]

    await kept.until_true(marked)


async def _status(worker: Worker, edit: Callable[[Object], None]) -> None:
    async def edited(obj: Object) -> Object:
        edit(obj)
        return obj

    scope = replace(worker.scope(JOBS, "j"), subresource="status")
    await update(worker.registry, scope, Edit(edited), Request("test"))


async def test_token_secrets_go_with_their_account(kept: Worker) -> None:
    await kept.create(ACCOUNTS, {"metadata": {"name": "a"}})
    annotations = {"kubernetes.io/service-account.name": "a"}
    token = {"metadata": {"name": "t", "annotations": annotations}, "type": accountsecrets.TYPE}
    await kept.create(SECRETS, token)
    await kept.create(SECRETS, {"metadata": {"name": "other"}})
    await kept.delete(ACCOUNTS, "a")

    async def gone() -> bool:
        return await kept.get(SECRETS, "t") is None

    await kept.until_true(gone)
    assert await kept.get(SECRETS, "other") is not None
