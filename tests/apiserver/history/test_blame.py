"""Blame over HTTP: three managers, fields that change hands, what is older than the log."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.history import changes
from apiserver.storage.compact import compact
from apiserver.storage.postgres import PostgresStore
from tests.apiserver.history.asking import CONFIG_MAPS, SHOP, config_map, three_versions
from tests.support.api import Api

DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"


async def blamed(api: Api, version: str) -> dict[str, dict[str, Any]]:
    found = await api.ok("GET", f"{SHOP}/{version}/blame")
    return {line["path"]: line for line in found["fields"]}


async def apply(api: Api, manager: str, data: dict[str, str], force: str = "false") -> str:
    body = config_map(**data)
    status, found = await api.patch(
        f"{CONFIG_MAPS}/web", body, "apply", fieldManager=manager, force=force
    )
    assert status < 300, found
    return str(found["metadata"]["resourceVersion"])


async def test_each_field_has_the_version_and_the_manager_that_gave_it_its_value(api: Api) -> None:
    one, two, three = await three_versions(api)
    lines = await blamed(api, three)
    assert set(lines) == {".data.a", ".data.b"}
    assert (lines[".data.a"]["revision"], lines[".data.a"]["manager"]) == (two, "two")
    assert (lines[".data.b"]["revision"], lines[".data.b"]["manager"]) == (three, "three")
    assert lines[".data.b"]["operation"] == "Update"
    assert lines[".data.a"]["owners"] == [{"manager": "two", "operation": "Update", "since": two}]
    first = await blamed(api, one)
    assert (first[".data.a"]["revision"], first[".data.a"]["manager"]) == (one, "one")


async def test_through_a_chain_of_applies(api: Api) -> None:
    one = await apply(api, "one", {"a": "1", "b": "1"})
    two = await apply(api, "two", {"b": "2", "c": "2"}, "true")
    three = await apply(api, "three", {"c": "2", "d": "3"})
    last = await apply(api, "one", {"a": "1", "e": "1"})  # gives up b, which two has taken
    lines = await blamed(api, last)
    given = {path: (line["manager"], line["revision"]) for path, line in lines.items()}
    assert given == {
        ".data.a": ("one", one),
        ".data.b": ("two", two),
        ".data.c": ("two", two),
        ".data.d": ("three", three),
        ".data.e": ("one", last),
    }
    owners = {(o["manager"], o["since"]) for o in lines[".data.c"]["owners"]}
    assert owners == {("two", two), ("three", three)}


async def test_a_field_that_changes_hands_keeps_its_version_and_gets_an_owner(api: Api) -> None:
    one = await apply(api, "one", {"a": "1"})
    two = await apply(api, "two", {"a": "1"})
    last = await apply(api, "one", {"z": "1"})
    line = (await blamed(api, last))[".data.a"]
    assert (line["manager"], line["revision"]) == ("one", one)
    assert line["owners"] == [{"manager": "two", "operation": "Apply", "since": two}]


async def test_items_of_a_list_keep_their_fields_when_it_is_sorted_anew(api: Api) -> None:
    def deployment(*images: str) -> dict[str, Any]:
        containers = [{"name": image[0], "image": image} for image in images]
        labels = {"matchLabels": {"a": "b"}}
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
        return {"metadata": {"name": "web"}, "spec": {"selector": labels, "template": template}}

    made = await api.ok("POST", f"{DEPLOYMENTS}?fieldManager=one", deployment("x:1", "y:1"))
    one = made["metadata"]["resourceVersion"]
    body = deployment("y:1", "x:2")
    changed = await api.ok("PUT", f"{DEPLOYMENTS}/web?fieldManager=two", body)
    two = changed["metadata"]["resourceVersion"]
    status = {"status": {"replicas": 0, "observedGeneration": 1}}
    _, last = await api.patch(f"{DEPLOYMENTS}/web/status", status, fieldManager="three")
    lines = await blamed(api, last["metadata"]["resourceVersion"])

    def given(path: str) -> tuple[str, str]:
        return lines[path].get("manager", ""), lines[path]["revision"]

    containers = ".spec.template.spec.containers"
    assert given(f'{containers}[name="x"].image') == ("two", two)
    assert given(f'{containers}[name="y"].image') == ("one", one)
    assert given(".spec.replicas")[1] == one
    observed = lines[".status.observedGeneration"]
    assert (observed["manager"], observed["subresource"]) == ("three", "status")


async def test_what_is_older_than_the_log_is_said_to_be(
    api: Api, store: PostgresStore, tenant: int
) -> None:
    _, two, three = await three_versions(api)
    await compact(store.database, tenant, int(two))
    found = await api.ok("GET", f"{SHOP}/{three}/blame")
    lines = {line["path"]: line for line in found["fields"]}
    assert (found["complete"], found["oldest"]) == (False, two)
    assert found["message"] == "before the retained history"
    assert "revision" not in lines[".data.a"] and "manager" not in lines[".data.a"]
    assert lines[".data.b"]["revision"] == three


async def test_a_walk_is_bounded(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MOST_VERSIONS", 2)
    *_, three = await three_versions(api)
    last = await apply(api, "four", {"c": "4"})
    found = await api.ok("GET", f"{SHOP}/{last}/blame")
    assert (found["complete"], found["oldest"]) == (False, three)
    assert found["message"] == "only the last 2 revisions were looked at"


async def test_a_new_object_of_an_old_name_has_nothing_of_the_old_one(api: Api) -> None:
    await three_versions(api)
    await api.ok("DELETE", f"{CONFIG_MAPS}/web")
    made = await api.ok("POST", f"{CONFIG_MAPS}?fieldManager=new", config_map(a="2"))
    version = made["metadata"]["resourceVersion"]
    found = await api.ok("GET", f"{SHOP}/{version}/blame")
    assert found["complete"] is True
    assert [(line["revision"], line["manager"]) for line in found["fields"]] == [(version, "new")]


async def test_the_user_is_told(api: Api) -> None:
    version = (await three_versions(api))[2]
    lines = await blamed(api, version)
    assert {line.get("username") for line in lines.values()} == {"system:anonymous"}
