"""StorageVersionMigrations are carried out, by one worker, and by another when that one is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from apiserver.controllers import migrationrequests, storagemigration
from apiserver.controllers.actions import Actions
from apiserver.controllers.manager import nothing_off
from apiserver.controllers.migrationrequests import MigrationRequests
from apiserver.controllers.storagemigration import Failure, StorageMigration
from apiserver.controllers.upkeep import Upkeep
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.storage.leases import Candidate
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.apiserver.controllers.test_storagemigration import fill, stored, stored_versions
from tests.support.api import Api, serving
from tests.support.leases import refused, runs_out
from tests.support.switches import serve
from tests.support.waiting import PATIENCE, until, until_true
from tests.support.webhooks import converting, webhook
from tests.support.widgets import CRD, define, redefine

MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"


@pytest_asyncio.fixture
async def api(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Api]:
    serve(monkeypatch, "storagemigration.k8s.io", "v1beta1")
    monkeypatch.setattr(storagemigration, "SETTLE", 0.0)
    async with serving(store, tenant) as made:
        yield made


@asynccontextmanager
async def working(
    api: Api, store: PostgresStore, holder: str = "one", seconds: float = 15.0
) -> AsyncIterator[tuple[MigrationRequests, Upkeep]]:
    async def tenant_of(number: int) -> Tenant | None:
        return api.tenant

    keeper = MigrationRequests(
        Actions(api.registry),
        Relations(store.database),
        api.catalog,
        Candidate(store.database, holder, seconds),
    )
    upkeep = Upkeep([keeper], tenant_of, nothing_off)
    store.observe(upkeep.committed)
    try:
        yield keeper, upkeep
    finally:
        await upkeep.stop()
        await keeper.stop()


async def ask(api: Api, name: str, resource: str = "widgets", group: str = "example.com") -> None:
    wanted = {"resource": {"group": group, "resource": resource}}
    await api.ok("POST", MIGRATIONS, {"metadata": {"name": name}, "spec": wanted})


async def state(api: Api, name: str, kind: str) -> Object:
    """Its status, when this condition is the only one that is True."""
    async with asyncio.timeout(PATIENCE):
        while True:
            status = (await api.ok("GET", f"{MIGRATIONS}/{name}")).get("status") or {}
            true = [c["type"] for c in status.get("conditions", ()) if c["status"] == "True"]
            if true == [kind]:
                return dict(status)
            await asyncio.sleep(0.02)


def told(status: Object) -> list[tuple[str, str, str]]:
    return [(c["type"], c["status"], c["message"]) for c in status["conditions"]]


async def migrating(api: Api) -> Any:
    """What the definition says of it."""
    found = (await api.ok("GET", CRD))["status"]["conditions"]
    return next((c for c in found if c["type"] == "StorageMigrating"), None)


async def says_it_migrates(api: Api) -> bool:
    """Whether the definition does: it is told after the request."""
    said = await migrating(api)
    return said is not None and said["status"] == "True"


async def test_objects_are_migrated_and_the_definition_forgets_the_old_version(
    api: Api, store: PostgresStore
) -> None:
    async with webhook(converting) as hook, working(api, store):
        await define(api, hook.config())
        await fill(api, 5)
        await redefine(api, hook.config(), "v2")
        await ask(api, "m")
        status = await state(api, "m", "Succeeded")
        assert int(status["resourceVersion"]) > 0
        assert [(c["type"], c["status"], c["reason"]) for c in status["conditions"]] == [
            ("Running", "False", "MigrationCompleted"),
            ("Succeeded", "True", "StorageVersionMigrationSucceeded"),
        ]
        assert set((await stored(api)).values()) == {"v2"} and await stored_versions(api) == ["v2"]
        said = await migrating(api)
        assert (said["status"], said["reason"]) == ("False", "MigrationSucceeded")
        assert said["observedGeneration"] == (await api.ok("GET", CRD))["metadata"]["generation"]


async def test_built_in_objects_are_in_todays_version_already(
    api: Api, store: PostgresStore
) -> None:
    async with working(api, store):
        await ask(api, "maps", "configmaps", "")
        await ask(api, "events", "events", "events.k8s.io")
        await state(api, "maps", "Succeeded")
        await state(api, "events", "Succeeded")


async def test_a_resource_that_nobody_knows_is_waited_for(
    api: Api, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs meanwhile, and has run when it failed; there is no version that it began at."""
    async with working(api, store):
        await ask(api, "early")
        assert "resourceVersion" not in await state(api, "early", "Running")
        await define(api, None)
        assert "resourceVersion" in await state(api, "early", "Succeeded")
        await ask(api, "wrong", "gadgets")
        waiting = await state(api, "wrong", "Running")
        monkeypatch.setattr(migrationrequests, "COMING", timedelta(0))
        status = await state(api, "wrong", "Failed")
        assert "resourceVersion" not in {**waiting, **status}
        assert told(status) == [
            ("Running", "False", "Migration completed"),
            ("Failed", "True", "resource does not exist in discovery"),
        ]


@pytest.mark.parametrize(
    ("resource", "group", "which"),
    [
        ("componentstatuses", "", "/v1, Resource=componentstatuses"),
        ("bindings", "", "/v1, Resource=bindings"),
        (
            "tokenreviews",
            "authentication.k8s.io",
            "authentication.k8s.io/v1, Resource=tokenreviews",
        ),
    ],
)
async def test_what_is_not_stored_is_not_migrated(
    api: Api, store: PostgresStore, resource: str, group: str, which: str
) -> None:
    async with working(api, store):
        await ask(api, "m", resource, group)
        why = f'resource "{which}" does not support discovery operations: [update patch list]'
        assert told(await state(api, "m", "Failed")) == [
            ("Running", "False", "Migration completed"),
            ("Failed", "True", why),
        ]


async def test_what_goes_with_its_definition_is_not_migrated(
    api: Api, store: PostgresStore
) -> None:
    async with working(api, store):
        await define(api, None)
        await fill(api, 1)
        assert (await api.ok("DELETE", CRD))["metadata"]["deletionTimestamp"]
        await ask(api, "m")
        _, failed = told(await state(api, "m", "Failed"))
        assert failed[2].startswith('resource "example.com/v2, Resource=widgets" does not support')


async def test_a_webhook_that_fails_is_asked_again(api: Api, store: PostgresStore) -> None:
    async def broken(review: Object) -> Object:
        raise ValueError("down")

    async with webhook(converting) as hook, working(api, store):
        await define(api, hook.config())
        await fill(api, 1)
        await redefine(api, hook.config(), "v2")
        hook.answer = broken
        await ask(api, "m")
        await state(api, "m", "Running")
        await until_true(lambda: says_it_migrates(api))
        assert await stored_versions(api) == ["v1", "v2"]
        hook.answer = converting
        await state(api, "m", "Succeeded")
        assert await stored_versions(api) == ["v2"]


async def test_what_cannot_be_stored_fails_it_and_the_old_version_stays(
    api: Api, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_large(*_: Any) -> Failure:
        return Failure("ns/w000", "it is too large", True)

    async with webhook(converting) as hook, working(api, store):
        await define(api, hook.config())
        await fill(api, 1)
        await redefine(api, hook.config(), "v2")
        monkeypatch.setattr(StorageMigration, "_store", too_large)
        await ask(api, "m")
        status = await state(api, "m", "Failed")
        assert status["conditions"][1]["message"].endswith("error: ns/w000: it is too large")
        assert await stored_versions(api) == ["v1", "v2"]
        assert (await migrating(api))["reason"] == "MigrationFailed"


async def test_one_at_a_time_the_oldest_first(api: Api, store: PostgresStore) -> None:
    await define(api, None)
    for name in ("c", "a", "b"):
        await ask(api, name)
    watch = api.watch(f"{MIGRATIONS}?watch=true")
    assert {e["type"] for e in await watch.take(3)} == {"ADDED"}
    async with working(api, store) as (keeper, upkeep):
        assert await keeper.missed(api.tenant.id) == ["widgets.example.com"]
        upkeep.enqueue(keeper.controller, api.tenant.id, "widgets.example.com")
        changes = [
            (e["object"]["metadata"]["name"], e["object"]["status"]["conditions"][-1]["type"])
            for e in await watch.take(6)
        ]
    order = [name for name, what in changes if what == "Running"]
    assert changes == [(name, what) for name in order for what in ("Running", "Succeeded")]
    made = {name: (await api.ok("GET", f"{MIGRATIONS}/{name}"))["metadata"] for name in "abc"}
    assert order == sorted("abc", key=lambda name: (made[name]["creationTimestamp"], name))
    await watch.stop()


async def test_another_worker_goes_on_when_one_is_gone(
    api: Api, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await define(api, None)
    await ask(api, "m")
    duty = f"storage-migrations/{api.tenant.id}"
    assert await Candidate(store.database, "gone", seconds=PATIENCE).elected(duty)
    refusals = refused(monkeypatch)
    async with working(api, store, "other") as (keeper, upkeep):
        await upkeep.sweep([(api.tenant.id, 1)])
        await until(lambda: duty in refusals)
        assert not (await api.ok("GET", f"{MIGRATIONS}/m")).get("status")
        await runs_out(store.database, duty, "gone")
        await state(api, "m", "Succeeded")
        assert await keeper.missed(api.tenant.id) == []
        assert await keeper.missed(api.tenant.id) == []
