"""The smaller controllers, with the controllers of a worker over the database."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from apiserver.authn.legacytokens import LAST_USED, TYPE
from apiserver.authn.serviceaccounts import AccountTokens
from apiserver.controllers import accountsecrets, aggregatedroles, manager, upkeep
from apiserver.controllers.finishedjobs import FinishedJobs
from apiserver.controllers.manager import Controllers, Trust
from apiserver.errors import Conflict
from apiserver.meta.objects import Object
from apiserver.registry.changes import Edit
from apiserver.registry.scope import Tenant
from apiserver.registry.update import update
from apiserver.registry.write import Request
from apiserver.storage.postgres import PostgresStore
from tests.support.definitionworker import Worker

ROLES = ("rbac.authorization.k8s.io", "clusterroles")
TOKENS = AccountTokens.random()
JOBS, SECRETS, ACCOUNTS = ("batch", "jobs"), ("", "secrets"), ("", "serviceaccounts")


def controllers(worker: Worker, store: PostgresStore) -> Controllers:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    trust = Trust(ca_bundle="CA", tokens=TOKENS)
    return Controllers(
        worker.registry, store.database, tenant_of, "test", worker.controller, trust=trust
    )


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


async def test_roles_that_gather_each_others_rules_come_to_rest(kept: Worker) -> None:
    """They would pass them round for ever, with a write a second."""
    for name, part, own in (("a", "b", "pods"), ("b", "a", "nodes")):
        role = {**aggregated(name, part, **{"part-of": name}), "rules": [rule(own)]}
        await kept.create(ROLES, role)
    leaf = {"metadata": {"name": "leaf", "labels": {"part-of": "b"}}, "rules": [rule("secrets")]}
    await kept.create(ROLES, leaf)
    await until_resources(kept, "a", "secrets")
    await until_resources(kept, "b", "secrets")
    await kept.delete(ROLES, "leaf")
    await until_resources(kept, "a")
    await until_resources(kept, "b")


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


async def test_a_job_goes_at_once_when_its_time_is_made_shorter(kept: Worker) -> None:
    """The end of the longer time is being waited for."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    await kept.create(JOBS, job(3600))

    def end(obj: Object) -> None:
        conditions = [{**finished(now), "type": "SuccessCriteriaMet"}, finished(now)]
        times = {"startTime": now, "completionTime": now}
        obj["status"] = {**times, "succeeded": 1, "conditions": conditions}

    await _status(kept, end)
    await kept.change(JOBS, "j", lambda obj: obj["spec"].update(ttlSecondsAfterFinished=0))

    async def marked() -> bool:
        obj = await kept.get(JOBS, "j")
        return obj is None or "deletionTimestamp" in obj["metadata"]

    await kept.until_true(marked)


async def test_what_happens_brings_no_look_forward_that_is_due_before_it(
    kept: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One look is waited for; an event that asks for a later one leaves it where it is, and one
    that asks for an earlier one does not."""
    looks: list[str] = []

    async def look(self: FinishedJobs, tenant: Tenant, name: str) -> float | None:
        looks.append(name)
        return 3600.0

    monkeypatch.setattr(FinishedJobs, "look", look)
    monkeypatch.setattr(upkeep, "FIRST", 0.02)
    some = controllers(kept, store)._upkeep
    keeper = next(k for k in some._keepers if isinstance(k, FinishedJobs))
    some._later(kept.tenant.id, keeper, "ns/j", 0.0)
    await kept.until(lambda: bool(looks and some._pauses))
    for _ in range(5):
        some._later(kept.tenant.id, keeper, "ns/j", 7200.0)
        await asyncio.sleep(0.05)
    assert looks == ["ns/j"]
    for delay in (1800.0, 0.0, 900.0):  # before the pause hears of the first
        some._later(kept.tenant.id, keeper, "ns/j", delay)
    await kept.until(lambda: len(looks) == 2)
    await some.stop()


async def test_many_events_shorten_a_pause_to_one_look(
    kept: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what has failed is not tried sooner, whatever happens."""
    looks: list[float] = []

    async def look(self: FinishedJobs, tenant: Tenant, name: str) -> float | None:
        looks.append(1.0)
        if len(looks) == 1:
            return 5.0
        raise Conflict(JOBS, "j")

    monkeypatch.setattr(FinishedJobs, "look", look)
    monkeypatch.setattr(upkeep, "FIRST", 3600.0)
    some = controllers(kept, store)._upkeep
    keeper = next(k for k in some._keepers if isinstance(k, FinishedJobs))
    which = (kept.tenant.id, keeper.controller, "ns/j")
    some._later(kept.tenant.id, keeper, "ns/j", 0.0)
    await kept.until(lambda: bool(looks and some._pauses))
    pause = some._pauses[which]
    for _ in range(5):
        some._later(kept.tenant.id, keeper, "ns/j", 0.0)
        await asyncio.sleep(0)
    assert len(looks) == 1
    pause._least = 0.0
    some._later(kept.tenant.id, keeper, "ns/j", 0.0)
    await kept.until(lambda: len(looks) == 2)
    some._later(kept.tenant.id, keeper, "ns/j", 0.0)
    assert which not in some._pauses
    await some.stop()


async def _status(worker: Worker, edit: Callable[[Object], None]) -> None:
    async def edited(obj: Object) -> Object:
        edit(obj)
        return obj

    scope = replace(worker.scope(JOBS, "j"), subresource="status")
    await update(worker.registry, scope, Edit(edited), Request("test"))


async def test_token_secrets_go_with_their_account(kept: Worker) -> None:
    await kept.create(ACCOUNTS, {"metadata": {"name": "a"}})
    annotations = {"kubernetes.io/service-account.name": "a"}
    token = {"metadata": {"name": "t", "annotations": annotations}, "type": TYPE}
    await kept.create(SECRETS, token)
    await kept.create(SECRETS, {"metadata": {"name": "other"}})
    await kept.delete(ACCOUNTS, "a")

    async def gone() -> bool:
        return await kept.get(SECRETS, "t") is None

    await kept.until_true(gone)
    assert await kept.get(SECRETS, "other") is not None


def token_secret(name: str = "t", **more: object) -> Object:
    annotations = {"kubernetes.io/service-account.name": "a"}
    return {"metadata": {"name": name, "annotations": annotations}, "type": TYPE, **more}


async def filled(worker: Worker, name: str = "t") -> Object:
    async def has_a_token() -> bool:
        secret = await worker.get(SECRETS, name)
        return bool(secret and (secret.get("data") or {}).get("token"))

    await worker.until_true(has_a_token)
    secret = await worker.get(SECRETS, name)
    assert secret is not None
    return secret


async def test_token_secrets_are_filled(kept: Worker) -> None:
    account = await kept.create(ACCOUNTS, {"metadata": {"name": "a"}})
    await kept.create(SECRETS, token_secret("stubborn", immutable=True))
    await kept.create(SECRETS, token_secret())
    secret = await filled(kept)
    data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert (data["ca.crt"], data["namespace"]) == ("CA", "ns")
    uid = secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"]
    assert uid == account["metadata"]["uid"]
    found = await TOKENS.recognize((kept.tenant.id, kept.tenant.name), data["token"])
    assert found is not None and found.claims.user.name == "system:serviceaccount:ns:a"

    def spoil(obj: Object) -> None:
        del obj["data"]["token"]

    await kept.change(SECRETS, "t", spoil)
    again = await filled(kept)
    assert base64.b64decode(again["data"]["token"]).decode().count(".") == 2


async def test_the_sweep_fills_what_a_dead_process_left(
    worker: Worker, store: PostgresStore
) -> None:
    await worker.create(ACCOUNTS, {"metadata": {"name": "a"}})
    await worker.create(SECRETS, token_secret())
    successor = controllers(worker, store)
    await successor.sweep()
    await filled(worker)
    await successor.stop()


async def test_secrets_of_an_account_that_had_the_name_go(kept: Worker) -> None:
    await kept.create(ACCOUNTS, {"metadata": {"name": "a"}})
    old = token_secret()
    old["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = "another"
    await kept.create(SECRETS, old)

    async def gone() -> bool:
        return await kept.get(SECRETS, "t") is None

    await kept.until_true(gone)


async def test_an_account_forgets_secrets_that_are_gone(kept: Worker) -> None:
    names = [{"name": "t"}, {"name": "other"}]
    await kept.create(ACCOUNTS, {"metadata": {"name": "a"}, "secrets": names})
    await kept.create(SECRETS, token_secret())
    await filled(kept)
    await kept.delete(SECRETS, "t")

    async def forgotten() -> bool:
        account = await kept.get(ACCOUNTS, "a")
        assert account is not None
        return bool(account["secrets"] == [{"name": "other"}])

    await kept.until_true(forgotten)


async def test_the_day_of_the_last_use_is_noted(worker: Worker, store: PostgresStore) -> None:
    await worker.create(SECRETS, token_secret())
    await worker.create(SECRETS, {"metadata": {"name": "other"}})
    some = controllers(worker, store)
    for secret in ("t", "other", "absent"):
        some.token_uses.used(worker.tenant, "ns", secret)

    async def noted() -> bool:
        secret = await worker.get(SECRETS, "t")
        assert secret is not None
        return (secret["metadata"].get("labels") or {}).get(LAST_USED) in days

    days = [datetime.now(UTC).date().isoformat()]
    days.append((datetime.now(UTC) + timedelta(hours=1)).date().isoformat())
    await worker.until_true(noted)
    await some.stop()
    other = await worker.get(SECRETS, "other")
    assert other is not None and "labels" not in other["metadata"]
