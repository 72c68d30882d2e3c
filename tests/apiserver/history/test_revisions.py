"""Revisions over HTTP: lists, single ones, pages, tables, and what cannot be asked."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from apiserver.history import listing
from apiserver.storage import history
from tests.apiserver.history.asking import (
    CLUSTER,
    CONFIG_MAPS,
    ROOT,
    SECRETS,
    SHOP,
    config_map,
    listed,
    selecting,
    three_versions,
)
from tests.support.api import Api

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
WEB = {"resource": "configmaps", "name": "web"}


def names(revisions: list[dict[str, Any]]) -> list[str]:
    return [revision["metadata"]["name"] for revision in revisions]


async def test_the_versions_of_an_object_are_listed_the_newest_first(api: Api) -> None:
    versions = await three_versions(api)
    found = await listed(api, selecting(SHOP, **WEB))
    assert names(found) == versions[::-1]
    assert [r["type"] for r in found] == ["MODIFIED", "MODIFIED", "ADDED"]
    assert [r.get("previous") for r in found] == [versions[1], versions[0], None]
    assert [r["manager"] for r in found] == ["three", "two", "one"]
    assert [r["verb"] for r in found] == ["patch", "patch", "create"]
    assert found[0]["request"]["userAgent"] == "test/1"
    assert found[0]["objectRef"]["kind"] == "ConfigMap"
    assert all("object" not in revision for revision in found)


async def test_one_revision_has_the_object_as_it_was(api: Api) -> None:
    versions = await three_versions(api)
    for version, data in zip(versions, ({"a": "1"}, {"a": "2"}, {"a": "2", "b": "1"}), strict=True):
        found = await api.ok("GET", f"{SHOP}/{version}")
        assert found["object"]["data"] == data
        assert found["object"]["metadata"]["resourceVersion"] == version
        assert (found["kind"], found["metadata"]["namespace"]) == ("Revision", "shop")


async def test_a_deleted_object_has_its_last_state(api: Api) -> None:
    await three_versions(api)
    await api.ok("DELETE", f"{CONFIG_MAPS}/web")
    (found,) = await listed(api, selecting(SHOP, resource="configmaps", type="DELETED"))
    whole = await api.ok("GET", f"{SHOP}/{found['metadata']['name']}")
    assert (whole["type"], whole["object"]["data"]) == ("DELETED", {"a": "2", "b": "1"})


async def test_pages_follow_each_other_and_miss_nothing(api: Api) -> None:
    for i in range(7):
        await api.ok("POST", CONFIG_MAPS, config_map(f"c{i}"))
    paged = await listed(api, f"{SHOP}?limit=3")
    assert [r["objectRef"]["name"] for r in paged] == [f"c{i}" for i in range(6, -1, -1)]
    assert names(paged) == names(await listed(api, SHOP))


async def test_a_page_is_bounded_by_its_bytes(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_BYTES", 1)
    monkeypatch.setattr(listing, "_BATCH", 1)
    for i in range(3):
        await api.ok("POST", CONFIG_MAPS, config_map(f"c{i}"))
    for path in SHOP, selecting(SHOP, asOf=(await listed(api, SHOP))[0]["metadata"]["name"]):
        page = await api.ok("GET", path)
        assert len(page["items"]) < 3 and page["metadata"]["continue"]
        assert {r["objectRef"]["name"] for r in await listed(api, path)} == {"c0", "c1", "c2"}


async def test_what_is_rare_is_looked_for_part_by_part(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "WINDOW", 2)
    monkeypatch.setattr(listing, "WINDOWS", 2)
    await api.ok("POST", SECRETS, {"metadata": {"name": "rare"}})
    for i in range(9):
        await api.ok("POST", CONFIG_MAPS, config_map(f"c{i}"))
    path = selecting(SHOP, resource="secrets")
    page = await api.ok("GET", path)
    assert page["items"] == [] and page["metadata"]["continue"]
    assert [r["objectRef"]["name"] for r in await listed(api, path)] == ["rare"]


async def test_a_deletion_tells_whether_there_is_such_an_object_again(api: Api) -> None:
    for name in "back", "gone":
        await api.ok("POST", CONFIG_MAPS, config_map(name))
        await api.ok("DELETE", f"{CONFIG_MAPS}/{name}")
    await api.ok("POST", CONFIG_MAPS, config_map("back"))
    found = await listed(api, selecting(SHOP, resource="configmaps"))
    told = [(r["objectRef"]["name"], r["type"], r.get("present")) for r in found]
    assert told == [
        ("back", "ADDED", None),
        ("gone", "DELETED", None),
        ("gone", "ADDED", None),
        ("back", "DELETED", True),
        ("back", "ADDED", None),
    ]


async def test_a_rare_deletion_is_found_behind_many_changes_in_one_answer(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST", 2)
    monkeypatch.setattr(listing, "WINDOWS", 2)
    gone = await api.ok("POST", CONFIG_MAPS, config_map("gone"))
    await api.ok("DELETE", f"{CONFIG_MAPS}/gone")
    for i in range(12):
        await api.ok("POST", CONFIG_MAPS, config_map(f"c{i}"))
    uid = gone["metadata"]["uid"]
    for asked in (
        selecting(SHOP, type="DELETED"),
        selecting(ROOT + "/revisions", resource="configmaps", name="gone"),
        selecting(SHOP, uid=uid),
    ):
        page = await api.ok("GET", asked)
        assert page["items"][0]["objectRef"]["name"] == "gone", asked


async def test_a_token_is_good_for_its_own_list_alone(api: Api) -> None:
    await three_versions(api)
    page = await api.ok("GET", f"{SHOP}?limit=1")
    token = page["metadata"]["continue"]
    for path in f"{ROOT}/revisions", CLUSTER, selecting(SHOP, **WEB):
        status, _ = await api("GET", f"{path}{'&' if '?' in path else '?'}continue={token}")
        assert status == 400, path
    for broken in "x", token[:-3], token[2:], "é":
        assert (await api("GET", f"{SHOP}?continue={broken}"))[0] == 400


async def test_lists_of_one_resource_of_a_label_and_of_all(api: Api) -> None:
    await api.ok("POST", CONFIG_MAPS, config_map())
    labelled = {"apiVersion": "v1", "kind": "Secret"}
    labelled["metadata"] = {"name": "s", "labels": {"app": "x"}}
    await api.ok("POST", SECRETS, labelled)
    other = CONFIG_MAPS.replace("shop", "other")
    await api.ok("POST", other, config_map("far"))

    async def found(path: str) -> list[str]:
        return [r["objectRef"]["name"] for r in await listed(api, path)]

    assert await found(SHOP) == ["s", "web"]
    assert await found(selecting(SHOP, resource="secrets")) == ["s"]
    assert await found(selecting(SHOP, resource="cm")) == ["web"]
    assert await found(selecting(SHOP, kind="Secret", apiVersion="v1")) == ["s"]
    assert await found(selecting(SHOP, labels="app=x")) == ["s"]
    assert await found(f"{ROOT}/revisions") == ["far", "s", "web"]
    assert await found(CLUSTER) == []
    await api.ok(
        "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "r"}}
    )
    assert await found(CLUSTER) == ["r"]
    assert await found(SHOP) == ["s", "web"]


@pytest.mark.parametrize(
    "word", ["configmaps", "configmap", "cm", "ConfigMap", "CONFIGMAPS", "configmaps."]
)
async def test_a_resource_is_called_as_kubectl_takes_it(api: Api, word: str) -> None:
    versions = await three_versions(api)
    found = await listed(api, selecting(SHOP, resource=word, name="web"))
    assert names(found) == versions[::-1]


async def test_kubectl_gets_a_table(api: Api) -> None:
    versions = await three_versions(api)
    table = await api.ok("GET", selecting(SHOP, **WEB), accept=TABLE)
    columns = [column["name"] for column in table["columnDefinitions"]]
    assert columns[:7] == ["Name", "Object", "Type", "Verb", "Manager", "User", "Age"]
    assert table["rows"][0]["cells"][:5] == [
        versions[2], "configmaps/web", "MODIFIED", "patch", "three",
    ]  # fmt: skip
    one = await api.ok("GET", f"{SHOP}/{versions[0]}", accept=TABLE)
    assert one["rows"][0]["cells"][0] == versions[0]


@pytest.mark.parametrize(
    "path",
    [
        selecting(SHOP, resource="nothings"),
        selecting(SHOP, resource="clusterroles"),
        selecting(CLUSTER, resource="configmaps"),
        selecting(SHOP, name="web"),
        selecting(SHOP, type="GONE"),
        selecting(SHOP, asOf="yesterday"),
        selecting(SHOP, asOf="9" * 5000),
        f"{SHOP}?fieldSelector=object.name!%3Dweb",
        f"{SHOP}?fieldSelector=spec.x%3D1",
        f"{SHOP}?labelSelector=%3D%3D",
        f"{SHOP}?resourceVersion=7",
        f"{SHOP}?limit=x",
        selecting(SHOP, resource="configmaps", apiVersion="a/b/c"),
    ],
)
async def test_what_cannot_be_asked_is_said_so(api: Api, path: str) -> None:
    status, found = await api("GET", path)
    assert (status, found["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
async def test_what_no_object_can_be_called_is_not_found(api: Api, name: str) -> None:
    *_, now = await three_versions(api)
    text = quote(name, errors="surrogatepass")
    here = "object.resource%3Dconfigmaps,object."
    for path in (
        f"{SHOP}?fieldSelector={here}name%3D{text}",
        f"{SHOP}?fieldSelector={here}uid%3D{text}",
        f"{SHOP}?fieldSelector=object.uid%3D{text}",
        f"{SHOP}?fieldSelector=object.resource%3D{text}.example.com",
        f"{SHOP}?fieldSelector={here}name%3D{text},asOf%3D{now}",
        f"{ROOT}/namespaces/{text}/revisions",
    ):
        assert (await api.ok("GET", path))["items"] == []


@pytest.mark.parametrize(
    "name",
    ["0", "1", "007", "x", "9" * 30, "9" * 5000, "0" * 5000 + "1", "-1", "1.5", "%00"],
    ids=range(10),
)
async def test_a_revision_that_is_not_there(api: Api, name: str) -> None:
    assert (await api("GET", f"{SHOP}/{name}"))[0] == 404
    assert (await api("GET", f"{SHOP}/{name}/blame"))[0] == 404


async def test_a_revision_is_found_where_its_object_is(api: Api) -> None:
    version = (await three_versions(api))[0]
    for path in f"{ROOT}/namespaces/other/revisions", CLUSTER:
        assert (await api("GET", f"{path}/{version}"))[0] == 404


async def test_nothing_is_written_there_and_nothing_watched(api: Api) -> None:
    version = (await three_versions(api))[0]
    for method, path in (
        ("POST", SHOP),
        ("PUT", f"{SHOP}/{version}"),
        ("DELETE", f"{SHOP}/{version}"),
        ("DELETE", SHOP),
        ("GET", f"{SHOP}?watch=1"),
        ("POST", f"{SHOP}/{version}/blame"),
        ("GET", f"{SHOP}/{version}/rollback"),
    ):
        assert (await api(method, path, {}))[0] == 405, (method, path)


async def test_who_asked_for_a_deletion_that_another_one_finished_is_told(api: Api) -> None:
    """The first write that set deletionTimestamp, however many came between; a deletion at once
    was asked for by whoever did it."""
    held = config_map("held")
    held["metadata"]["finalizers"] = ["a.example/one", "a.example/two"]
    await api.ok("POST", CONFIG_MAPS, held)
    await api.ok("POST", CONFIG_MAPS, config_map("free"))
    marked = await api.ok("DELETE", f"{CONFIG_MAPS}/held")
    for left in (["a.example/two"], []):
        patch = {"metadata": {"finalizers": left}}
        await api.patch(f"{CONFIG_MAPS}/held?fieldManager=finisher", patch, "merge")
    await api.ok("DELETE", f"{CONFIG_MAPS}/free")
    free, gone = await listed(api, selecting(SHOP, resource="configmaps", type="DELETED"))
    assert free["objectRef"]["name"] == "free" and "deletion" not in free
    asked = gone["deletion"]
    assert asked["revision"] == marked["metadata"]["resourceVersion"]
    assert (asked["verb"], gone["verb"]) == ("delete", "patch")
    assert asked["request"]["auditID"] != gone["request"]["auditID"]
    assert asked["time"] < gone["time"]
    single = await api.ok("GET", f"{SHOP}/{gone['metadata']['name']}")
    assert single["deletion"] == asked
