"""Rollback and undelete over HTTP: what comes back, what does not, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiserver.storage.postgres import PostgresStore
from tests.apiserver.history.asking import (
    CLUSTER,
    CONFIG_MAPS,
    SHOP,
    config_map,
    listed,
    three_versions,
)
from tests.support.api import Api
from tests.support.auditrows import rows

SERVICES = "/api/v1/namespaces/shop/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
JOBS = "/apis/batch/v1/namespaces/shop/jobs"
WEB = f"{CONFIG_MAPS}/web"


async def rollback(api: Api, version: str, body: Any = None, query: str = "") -> tuple[int, Any]:
    return await api("POST", f"{SHOP}/{version}/rollback?{query}", body)


async def undelete(api: Api, version: str, query: str = "") -> tuple[int, Any]:
    return await api("POST", f"{SHOP}/{version}/undelete?{query}")


async def deleted(api: Api, path: str) -> str:
    """Deletes it; the revision of that."""
    await api.ok("DELETE", path)
    (found, *_) = await listed(api, f"{SHOP}?fieldSelector=type%3DDELETED")
    return str(found["metadata"]["name"])


def left(found: Any) -> dict[str, str]:
    return {field["path"]: field["reason"] for field in found["notRestored"]}


# --- rollback -------------------------------------------------------------------------------------
async def test_a_rollback_is_a_new_version_with_the_old_content(
    api: Api, store: PostgresStore, tenant: int
) -> None:
    one, _, three = await three_versions(api)
    uid = (await api.ok("GET", WEB))["metadata"]["uid"]
    status, found = await rollback(api, one, query="fieldManager=me")
    now = await api.ok("GET", WEB)
    assert (status, now["data"]) == (201, {"a": "1"})
    assert int(now["metadata"]["resourceVersion"]) > int(three)
    assert now["metadata"]["uid"] == uid
    assert (found["kind"], found["object"], found["unchanged"]) == ("RevisionRestore", now, False)
    assert found["notRestored"] == []
    entries = {e["manager"]: e["fieldsV1"] for e in now["metadata"]["managedFields"]}
    assert "f:a" in entries["me"]["f:data"]
    newest = (await listed(api, SHOP))[0]
    assert (newest["verb"], newest["restored"], newest["manager"]) == ("rollback", one, "me")
    (row,) = await rows(store, tenant, resource_version=int(now["metadata"]["resourceVersion"]))
    assert (row["resource"], row["name"]) == ("configmaps", "web")


async def test_a_rollback_to_what_is_there_writes_nothing(api: Api) -> None:
    *_, three = await three_versions(api)
    _, found = await rollback(api, three)
    assert found["unchanged"] is True
    assert found["objectRef"]["resourceVersion"] == three


async def test_a_dry_run_shows_and_writes_nothing(api: Api) -> None:
    one, _, three = await three_versions(api)
    status, found = await rollback(api, one, query="dryRun=All")
    assert (status, found["object"]["data"]) == (201, {"a": "1"})
    assert (await api.ok("GET", WEB))["metadata"]["resourceVersion"] == three
    gone = await deleted(api, WEB)
    status, found = await undelete(api, gone, "dryRun=All")
    assert (status, found["object"]["data"]) == (201, {"a": "2", "b": "1"})
    assert (await api("GET", WEB))[0] == 404


async def test_preconditions(api: Api) -> None:
    one, two, three = await three_versions(api)
    body = {"kind": "RevisionRestore", "apiVersion": "history.polyplane.dev/v1"}
    for wrong in {"resourceVersion": two}, {"uid": "other"}:
        status, found = await rollback(api, one, {**body, "preconditions": wrong})
        assert (status, found["reason"]) == (409, "Conflict"), found
    right = {"resourceVersion": three}
    assert (await rollback(api, one, {**body, "preconditions": right}))[0] == 201
    uid = (await api.ok("GET", WEB))["metadata"]["uid"]
    gone = await deleted(api, WEB)
    path = f"{SHOP}/{gone}/undelete"
    for unfulfilled in {"uid": uid}, {"resourceVersion": gone}:
        status, found = await api("POST", path, {**body, "preconditions": unfulfilled})
        assert (status, found["reason"]) == (409, "Conflict"), "nothing is there"
    assert (await api("GET", WEB))[0] == 404
    assert (await api("POST", path, {**body, "preconditions": {"uid": ""}}))[0] == 201


async def test_a_body_of_something_else_is_refused(api: Api) -> None:
    one, *_ = await three_versions(api)
    assert (await rollback(api, one, config_map()))[0] == 400
    assert (await rollback(api, one, b"{"))[0] == 400
    assert (await rollback(api, one, {"metadata": {"name": "other"}}))[0] == 400
    for namespace, status in ("other", 400), ("shop", 201), ("", 201):
        body = {"kind": "RevisionRestore", "metadata": {"name": one, "namespace": namespace}}
        body["apiVersion"] = "history.polyplane.dev/v1"
        assert (await rollback(api, one, body, "dryRun=All"))[0] == status, namespace
    assert (await rollback(api, one, query="dryRun=Some"))[0] == 422


async def test_status_and_finalizers_are_not_rolled_back(api: Api) -> None:
    labels = {"a": "b"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
    made = await api.ok("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    one = made["metadata"]["resourceVersion"]
    await api.patch(
        f"{DEPLOYMENTS}/d", {"spec": {"replicas": 3}, "metadata": {"finalizers": ["e.org/x"]}}
    )
    await api.patch(f"{DEPLOYMENTS}/d/status", {"status": {"observedGeneration": 2}})
    _, found = await rollback(api, one)
    now = found["object"]
    assert (now["spec"]["replicas"], now["status"]["observedGeneration"]) == (1, 2)
    assert now["metadata"]["finalizers"] == ["e.org/x"]
    assert now["metadata"]["generation"] == 3
    assert set(left(found)) == {".status", ".metadata.finalizers"}


async def test_what_may_not_change_is_refused_by_the_kind_itself(api: Api) -> None:
    template = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    job = {"metadata": {"name": "j"}, "spec": {"completions": 2, "template": {"spec": template}}}
    made = await api.ok("POST", JOBS, job)
    immutable = {"metadata": {"name": "c"}, "data": {"a": "1"}}
    first = await api.ok("POST", CONFIG_MAPS, immutable)
    changed = {**immutable, "data": {"a": "2"}, "immutable": True}
    await api.ok("PUT", f"{CONFIG_MAPS}/c", changed)
    status, found = await rollback(api, first["metadata"]["resourceVersion"])
    assert (status, found["reason"]) == (422, "Invalid")
    assert "field is immutable when `immutable` is set" in found["message"]
    assert (await rollback(api, made["metadata"]["resourceVersion"]))[0] == 201


async def test_another_object_of_the_name_is_not_rolled_back_to(api: Api) -> None:
    one, *_ = await three_versions(api)
    await api.ok("DELETE", WEB)
    status, found = await rollback(api, one)
    assert (status, "undelete" in found["message"]) == (409, True)
    await api.ok("POST", CONFIG_MAPS, config_map(a="new"))
    status, found = await rollback(api, one)
    assert (status, "is of an object that is gone" in found["message"]) == (409, True)
    assert (await api.ok("GET", WEB))["data"] == {"a": "new"}


async def test_an_object_that_is_being_deleted_stays_so(api: Api) -> None:
    one, *_ = await three_versions(api)
    await api.patch(WEB, {"metadata": {"finalizers": ["e.org/x"]}})
    await api.ok("DELETE", WEB)
    status, found = await rollback(api, one)
    assert (status, found["object"]["data"]) == (201, {"a": "1"})
    assert found["object"]["metadata"]["deletionTimestamp"]


# --- undelete -------------------------------------------------------------------------------------
async def test_an_undeleted_object_is_a_new_one_with_the_old_content(api: Api) -> None:
    await three_versions(api)
    await api.patch(WEB, {"metadata": {"labels": {"app": "x"}, "finalizers": ["e.org/x"]}})
    before = await api.ok("GET", WEB)
    await api.ok("DELETE", WEB)
    await api.patch(WEB, {"metadata": {"finalizers": None}})
    (gone, *_) = await listed(api, f"{SHOP}?fieldSelector=type%3DDELETED")
    status, found = await undelete(api, gone["metadata"]["name"], "fieldManager=me")
    now = await api.ok("GET", WEB)
    assert (status, now["data"], found["object"]) == (201, before["data"], now)
    metadata, was = now["metadata"], before["metadata"]
    assert metadata["labels"] == {"app": "x"}
    assert metadata["uid"] != was["uid"]
    assert int(metadata["resourceVersion"]) > int(was["resourceVersion"])
    assert not {"deletionTimestamp", "finalizers"} & metadata.keys()
    assert [e["manager"] for e in metadata["managedFields"]] == ["me"]
    (newest, *_) = await listed(api, SHOP)
    assert (newest["type"], newest["verb"]) == ("ADDED", "undelete")
    assert newest["restored"] == gone["metadata"]["name"]


async def test_an_earlier_state_comes_back_without_its_finalizers(api: Api) -> None:
    await three_versions(api)
    _, marked = await api.patch(WEB, {"metadata": {"finalizers": ["e.org/x"]}})
    await api.ok("DELETE", WEB)
    await api.patch(WEB, {"metadata": {"finalizers": None}})
    _, found = await undelete(api, marked["metadata"]["resourceVersion"])
    assert list(left(found)) == [".metadata.finalizers"]
    assert "finalizers" not in found["object"]["metadata"]


async def test_a_name_that_is_taken_is_not_undeleted_over(api: Api) -> None:
    await three_versions(api)
    gone = await deleted(api, WEB)
    await api.ok("POST", CONFIG_MAPS, config_map(a="new"))
    status, found = await undelete(api, gone)
    assert (status, found["reason"]) == (409, "AlreadyExists")
    assert (await api.ok("GET", WEB))["data"] == {"a": "new"}


async def test_owners_that_are_gone_do_not_come_back(api: Api) -> None:
    def owned(*owners: Any) -> Any:
        references = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": o["name"], "uid": o["uid"]}
            for o in (owner["metadata"] for owner in owners)
        ]
        return {"metadata": {"name": "child", "ownerReferences": references}}

    alive, dead, dying = [await api.ok("POST", CONFIG_MAPS, config_map(n)) for n in "abc"]
    child = await api.ok("POST", CONFIG_MAPS, owned(alive, dead, dying))
    one = child["metadata"]["resourceVersion"]
    await api.patch(f"{CONFIG_MAPS}/child", {"data": {"a": "1"}})
    await api.patch(f"{CONFIG_MAPS}/c", {"metadata": {"finalizers": ["e.org/x"]}})
    for name in "bc":
        await api.ok("DELETE", f"{CONFIG_MAPS}/{name}")
    _, back = await rollback(api, one)
    await api.ok("DELETE", f"{CONFIG_MAPS}/child")
    _, again = await undelete(api, one)
    for found in back, again:
        owners = found["object"]["metadata"]["ownerReferences"]
        assert [owner["name"] for owner in owners] == ["a"]
        assert len(left(found)) == 2
        assert all("is gone" in reason for reason in left(found).values())


async def test_an_undeleted_service_gets_what_its_kind_gives_a_new_one(api: Api) -> None:
    spec = {"selector": {"a": "b"}, "ports": [{"port": 80}], "type": "ExternalName"}
    body = {"metadata": {"name": "s"}, "spec": {**spec, "externalName": "example.org"}}
    await api.ok("POST", SERVICES, body)
    status, found = await undelete(api, await deleted(api, f"{SERVICES}/s"))
    assert (status, found["object"]["spec"]["externalName"]) == (201, "example.org")


@pytest.mark.parametrize("labels", [None, {"app": "j"}])
async def test_an_undeleted_job_has_the_selector_of_a_new_one(
    api: Api, labels: dict[str, str] | None
) -> None:
    """The server made the old one of the uid that is gone."""
    template = {
        "metadata": {"labels": labels},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    job = {"metadata": {"name": "j", "labels": labels}, "spec": {"template": template}}
    old = await api.ok("POST", JOBS, job)
    status, found = await undelete(
        api, await deleted(api, f"{JOBS}/j?propagationPolicy=Background")
    )
    assert status == 201, found
    new = await api.ok("GET", f"{JOBS}/j")
    before, after = old["metadata"]["uid"], new["metadata"]["uid"]
    assert after != before and before not in json.dumps({**new, "status": None})
    for part in ("labels", "name"):
        text = json.dumps(old["metadata"].get(part)).replace(before, after)
        assert new["metadata"].get(part) == json.loads(text)
    assert new["spec"] == json.loads(json.dumps(old["spec"]).replace(before, after))


async def test_a_job_with_a_selector_of_its_own_keeps_it(api: Api) -> None:
    labels = {"app": "j", "controller-uid": "mine"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"manualSelector": True, "selector": {"matchLabels": labels}, "template": template}
    old = await api.ok("POST", JOBS, {"metadata": {"name": "j"}, "spec": spec})
    assert (await undelete(api, await deleted(api, f"{JOBS}/j?propagationPolicy=Background")))[
        0
    ] == 201
    assert (await api.ok("GET", f"{JOBS}/j"))["spec"] == old["spec"]


async def test_cluster_scoped_objects_come_back_too(api: Api) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    made = await api.ok("POST", path, {"metadata": {"name": "p"}, "value": 7, "description": "x"})
    version = made["metadata"]["resourceVersion"]
    await api.patch(f"{path}/p", {"description": "y"})
    found = await api.ok("POST", f"{CLUSTER}/{version}/rollback")
    assert found["object"]["description"] == "x"
    await api.ok("DELETE", f"{path}/p")
    found = await api.ok("POST", f"{CLUSTER}/{version}/undelete")
    assert (found["object"]["value"], found["object"]["description"]) == (7, "x")
