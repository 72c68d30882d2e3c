"""Storage migration: every object in today's version and nothing else changed about it; a failure
leaves all as it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import pytest_asyncio

from apiserver.controllers import storagemigration
from apiserver.controllers.storagemigration import Moved, Outcome, StorageMigration
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.core import write_of
from apiserver.storage.interface import ObjectKey, stored_api_version
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.webhooks import converting, success, webhook
from tests.support.widgets import CRD, V1, V2, define, redefine, widget

WIDGETS = GroupResource("example.com", "widgets")


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


async def migrate(api: Api, seen: list[tuple[int, int]] | None = None, **options: Any) -> Outcome:
    await api.catalog.fresh(api.tenant)
    resource = api.catalog.find(api.tenant, *WIDGETS)
    assert resource is not None
    shown = seen if seen is not None else []
    return await StorageMigration(api.registry, api.catalog, settle=0).migrate(
        api.tenant, resource, lambda looked, done: shown.append((looked, done)), **options
    )


async def stored(api: Api) -> dict[str, str]:
    """name → version."""
    page = await api.registry.store.list(api.tenant.id, WIDGETS)
    return {r.key.name: stored_api_version(r.data).rpartition("/")[2] for r in page.records}


async def stored_versions(api: Api) -> list[str]:
    found: list[str] = (await api.ok("GET", CRD))["status"]["storedVersions"]
    return found


async def fill(api: Api, count: int) -> None:
    await asyncio.gather(
        *(api.ok("POST", V1, widget(f"w{i:03}", host=f"h{i}", port=1)) for i in range(count))
    )


async def test_objects_are_stored_anew_and_nothing_else_changes(api: Api) -> None:
    async with webhook(converting) as hook:
        await define(api, hook.config())
        await fill(api, 30)
        before = {o["metadata"]["name"]: o for o in (await api.ok("GET", V1))["items"]}
        await redefine(api, hook.config(), "v2")
        hook.calls.clear()
        seen: list[tuple[int, int]] = []
        outcome = await migrate(api, seen)
        assert (outcome.outdated, outcome.failed, outcome.trimmed) == (30, [], ["v1"])
        assert seen[0] == (30, 30) and len(hook.calls) == 1
        assert set((await stored(api)).values()) == {"v2"} and await stored_versions(api) == ["v2"]
        for found in (await api.ok("GET", V1))["items"]:
            old = before[found["metadata"]["name"]]
            assert found["metadata"].pop("resourceVersion") != old["metadata"].pop(
                "resourceVersion"
            )
            assert found == old  # managedFields and generation too

        head = await api.registry.store.head(api.tenant.id)
        again = await migrate(api)
        assert (again.outdated, again.trimmed) == (0, []) and await api.registry.store.head(
            api.tenant.id
        ) == head


async def test_watchers_see_the_same_objects(api: Api) -> None:
    async with webhook(converting) as hook:
        await define(api, hook.config())
        await fill(api, 1)
        await redefine(api, hook.config(), "v2")
        watch = api.watch(f"{V1}?watch=true")
        (first,) = await watch.take(1)
        await migrate(api)
        (changed,) = await watch.take(1)
        assert (
            changed["type"] == "MODIFIED" and changed["object"]["spec"] == first["object"]["spec"]
        )
        await watch.stop()


async def test_a_dry_run_converts_and_stores_nothing(api: Api) -> None:
    async with webhook(converting) as hook:
        await define(api, hook.config())
        await fill(api, 3)
        await redefine(api, hook.config(), "v2")
        head = await api.registry.store.head(api.tenant.id)
        hook.calls.clear()
        outcome = await migrate(api, dry_run=True)
        assert outcome.outdated == 3 and hook.asked == 3 and outcome.trimmed == []
        assert await api.registry.store.head(api.tenant.id) == head


async def test_what_fails_is_named_and_the_rest_is_done(api: Api) -> None:
    async def picky(review: Object) -> Object:
        if any(o["metadata"]["name"] == "w005" for o in review["request"]["objects"]):
            return {
                **success(review, []),
                "response": {
                    "uid": review["request"]["uid"],
                    "result": {"status": "Failure", "message": "no"},
                },
            }
        return await converting(review)

    async with webhook(converting) as hook:
        await define(api, hook.config())
        await fill(api, 10)
        await redefine(api, hook.config(), "v2")
        hook.answer = picky
        outcome = await migrate(api)
        assert outcome.failed == [
            ("ns/w005", "conversion webhook for example.com/v1, Kind=Widget failed: no", False)
        ]
        assert {name for name, version in (await stored(api)).items() if version == "v1"} == {
            "w005"
        }
        assert await stored_versions(api) == ["v1", "v2"]
        hook.answer = converting
        outcome = await migrate(api)
        assert (outcome.outdated, outcome.failed, outcome.trimmed) == (1, [], ["v1"])
        assert set((await stored(api)).values()) == {"v2"}


async def test_others_may_write_meanwhile(api: Api) -> None:
    changed: list[str] = []

    async def busy(review: Object) -> Object:
        if (
            review["request"]["desiredAPIVersion"].endswith("v2")
            and len(review["request"]["objects"]) > 1
        ):
            for name in ("w001", "w002"):  # between reading and writing of the migration
                changed.append(
                    (await api.patch(f"{V2}/{name}", {"spec": {"address": "new:9"}}))[1][
                        "metadata"
                    ]["name"]
                )
            await api.ok("DELETE", f"{V2}/w003")
        return await converting(review)

    async with webhook(converting) as hook:
        await define(api, hook.config())
        await fill(api, 6)
        await redefine(api, hook.config(), "v2")
        hook.answer = busy
        outcome = await migrate(api)
        assert changed == ["w001", "w002"] and outcome.failed == [] and outcome.trimmed == ["v1"]
        assert await stored(api) == {f"w{i:03}": "v2" for i in (0, 1, 2, 4, 5)}
        assert (await api.ok("GET", f"{V1}/w001"))["spec"] == {"host": "new", "port": 9}


async def test_what_a_process_that_lags_behind_writes_is_found_by_the_next_pass(api: Api) -> None:
    async with webhook(converting) as hook:
        await define(api, hook.config())
        await fill(api, 2)
        late = await api.ok("GET", f"{V1}/w000")
        await redefine(api, hook.config(), "v2")

        async def lagging(review: Object) -> Object:
            made = await converting(review)
            if late:
                data = {
                    **late,
                    "metadata": {
                        k: v for k, v in late["metadata"].items() if k != "resourceVersion"
                    }
                    | {"name": "a-late-one"},
                }
                late.clear()
                key = ObjectKey(*WIDGETS, "ns", "a-late-one")
                await api.registry.store.write(
                    api.tenant.id, write_of("create", key, data, orjson.dumps(_kind_first(data)))
                )
            return made

        hook.answer = lagging
        outcome = await migrate(api)
        assert outcome.outdated == 3 and set((await stored(api)).values()) == {"v2"}


def _kind_first(obj: Object) -> Object:
    return {
        "kind": obj["kind"],
        "apiVersion": obj["apiVersion"],
        "metadata": obj["metadata"],
        **obj,
    }


async def test_a_migration_that_is_cut_off_can_be_run_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storagemigration, "PAGE", 2)
    stuck = asyncio.Event()

    async def second_page_hangs(review: Object) -> Object:
        if any(o["metadata"]["name"] == "w002" for o in review["request"]["objects"]):
            stuck.set()
            await asyncio.Event().wait()
        return await converting(review)

    async with webhook(converting) as hook:
        await define(api, hook.config())
        await fill(api, 5)
        await redefine(api, hook.config(), "v2")
        hook.answer = second_page_hangs
        running = asyncio.create_task(migrate(api))
        await stuck.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert sorted((await stored(api)).values()) == ["v1", "v1", "v1", "v2", "v2"]
        assert await stored_versions(api) == ["v1", "v2"]
        hook.answer = converting
        assert (await migrate(api)).outdated == 3
        assert set((await stored(api)).values()) == {"v2"} and await stored_versions(api) == ["v2"]


async def test_a_definition_that_changes_meanwhile_keeps_its_stored_versions(api: Api) -> None:
    async with webhook(converting) as hook:
        await define(api, hook.config())
        await fill(api, 2)
        await redefine(api, hook.config(), "v2")

        async def flipping(review: Object) -> Object:
            hook.answer = converting
            await redefine(api, hook.config(), "v1")
            return await converting(review)

        hook.answer = flipping
        with pytest.raises(Moved):
            await migrate(api)
        assert await stored_versions(api) == ["v1", "v2"]


async def test_a_definition_that_is_made_anew_meanwhile_keeps_its_stored_versions(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await define(api, None)
    await redefine(api, None, "v2")
    change = storagemigration.change_status

    async def after_another(*args: Any) -> None:
        await api.ok("DELETE", CRD)
        old = await api.ok("GET", CRD)
        old["metadata"]["finalizers"] = []
        await api.ok("PUT", CRD, old)
        await api.until(lambda: api.catalog.find(api.tenant, *WIDGETS) is None)
        await define(api, None, "v2")
        await redefine(api, None, "v1")  # of the same generation
        await change(*args)

    monkeypatch.setattr(storagemigration, "change_status", after_another)
    with pytest.raises(Moved):
        await migrate(api)
    assert "v1" in await stored_versions(api)


async def test_a_version_can_go_once_nothing_is_stored_in_it(api: Api) -> None:
    await define(api, None)
    await api.ok("POST", V1, widget("a", replicas=1))
    await redefine(api, None, "v2")
    found = await api.ok("GET", CRD)
    found["spec"]["versions"] = [v for v in found["spec"]["versions"] if v["name"] == "v2"]
    status, refusal = await api("PUT", CRD, found)
    assert status == 422 and refusal["details"]["causes"][0]["field"] == "status.storedVersions[0]"
    assert (await migrate(api)).trimmed == ["v1"]
    latest = await api.ok("GET", CRD)
    latest["spec"]["versions"] = found["spec"]["versions"]
    await api.ok("PUT", CRD, latest)
    assert (await api.ok("GET", f"{V2}/a"))["spec"] == {"replicas": 1}


async def test_objects_of_built_in_kinds_are_stored_anew_too(api: Api) -> None:
    key = ObjectKey("autoscaling", "horizontalpodautoscalers", "ns", "a")
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 60,
    }
    metadata = {"name": "a", "namespace": "ns", "uid": "7d8a3f0c-7f0c-4c6e-9c55-b9d2f1f0a001"}
    old = {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
    }
    await api.registry.store.write(api.tenant.id, write_of("create", key, old, orjson.dumps(old)))
    resource = api.catalog.find(api.tenant, *key.group_resource)
    assert resource is not None and resource.storage_version == "v2"
    outcome = await StorageMigration(api.registry, api.catalog).migrate(
        api.tenant, resource, lambda looked, done: None
    )
    assert outcome.outdated == 1
    record = await api.registry.store.get(api.tenant.id, key)
    assert record is not None and stored_api_version(record.data) == "autoscaling/v2"
    assert orjson.loads(record.data)["spec"]["metrics"][0]["resource"]["target"] == {
        "type": "Utilization",
        "averageUtilization": 60,
    }
