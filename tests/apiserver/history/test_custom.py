"""The past of custom objects: converted to the version asked for, readable when the definition is
gone."""

from __future__ import annotations

from tests.apiserver.history.asking import ROOT, listed, selecting
from tests.support.api import Api
from tests.support.conversions import defined
from tests.support.widgets import CRD, V1, V2, define, seen, widget

HERE = f"{ROOT}/namespaces/ns/revisions"
KIND = "widgets.example.com"


async def two_versions(api: Api) -> tuple[str, str]:
    made = await api.ok("POST", f"{V1}?fieldManager=one", widget("w", host="h", port=1))
    body = {"spec": {"address": "h:2"}}
    status, changed = await api.patch(f"{V2}/w", body, fieldManager="two")
    assert status == 200, changed
    return made["metadata"]["resourceVersion"], changed["metadata"]["resourceVersion"]


async def test_an_old_version_is_converted_to_the_version_asked_for(api: Api) -> None:
    async with defined(api):
        one, _ = await two_versions(api)
        for version, spec in ("v1", {"host": "h", "port": 1}), ("v2", {"address": "h:1"}):
            query = f"apiVersion=example.com/{version}"
            found = await api.ok("GET", f"{HERE}/{one}?{query}")
            assert found["object"]["spec"] == spec
            assert found["object"]["apiVersion"] == f"example.com/{version}"
        path = selecting(HERE, resource=KIND, apiVersion="example.com/v2", asOf=one)
        (then,) = await listed(api, path)
        assert then["object"]["spec"] == {"address": "h:1"}
        assert (await api("GET", f"{HERE}/{one}?apiVersion=example.com/v9"))[0] == 400
        assert (await api("GET", f"{HERE}/{one}?apiVersion=v1"))[0] == 400


async def test_blame_and_diff_are_of_one_version(api: Api) -> None:
    async with defined(api):
        one, two = await two_versions(api)
        query = "apiVersion=example.com/v2"
        found = await api.ok("GET", f"{HERE}/{two}/blame?{query}")
        lines = {line["path"]: line for line in found["fields"]}
        assert lines[".spec.address"]["revision"] == two
        assert lines[".spec.address"]["manager"] == "two"
        changes = (await api.ok("GET", f"{HERE}/{two}/diff?{query}"))["changes"]
        assert {"path": ".spec.address", "type": "modified", "from": "h:1", "to": "h:2"} in changes
        older = await api.ok("GET", f"{HERE}/{two}/blame?apiVersion=example.com/v1")
        lines = {line["path"]: line for line in older["fields"]}
        assert (lines[".spec.host"]["revision"], lines[".spec.port"]["revision"]) == (one, two)


async def test_a_rollback_of_a_custom_object(api: Api) -> None:
    async with defined(api):
        one, _ = await two_versions(api)
        found = await api.ok("POST", f"{HERE}/{one}/rollback")
        assert (await api.ok("GET", f"{V1}/w"))["spec"] == {"host": "h", "port": 1}
        assert found["object"]["metadata"]["generation"] == 3


async def test_a_webhook_that_fails_leaves_what_is_stored(api: Api) -> None:
    async with defined(api) as hook:
        one, _ = await two_versions(api)
        hook.answer = lambda review: {"kind": "nothing"}
        found = await api.ok("GET", f"{HERE}/{one}?apiVersion=example.com/v2")
        assert found["object"]["apiVersion"] == "example.com/v1"
        assert found["message"].startswith("as it is stored: ")


async def test_when_the_definition_is_gone(api: Api) -> None:
    await define(api, None)
    made = await api.ok("POST", V1, widget("w", host="h"))
    version = made["metadata"]["resourceVersion"]
    await api.ok("DELETE", f"{V1}/w")
    await api.ok("DELETE", CRD)
    await api.patch(CRD, {"metadata": {"finalizers": None}})
    await api.until(lambda: api.catalog.find(api.tenant, "example.com", "widgets") is None)
    gone, first = await listed(api, selecting(HERE, resource=KIND))
    assert (gone["type"], first["metadata"]["name"]) == ("DELETED", version)
    whole = await api.ok("GET", f"{HERE}/{version}")
    assert whole["object"]["spec"] == {"host": "h"}
    assert whole["message"] == f"the definition of {KIND} is gone: as it is stored"
    for how in "blame", "diff":
        status, found = await api("GET", f"{HERE}/{version}/{how}")
        assert (status, f"the definition of {KIND} is gone" in found["message"]) == (400, True)
    for how in "undelete", "rollback":
        status, found = await api("POST", f"{HERE}/{version}/{how}")
        assert (status, "bring that back first" in found["message"]) == (409, True)
    await define(api, None)
    found = await api.ok("POST", f"{HERE}/{version}/undelete")
    assert found["object"]["spec"] == {"host": "h"}


async def test_what_the_definition_has_no_longer_is_said_not_to_come_back(api: Api) -> None:
    one, two = await two_fields(api)
    assert "message" not in await api.ok("GET", f"{HERE}/{one}")
    await without_port(api)
    found = await api.ok("GET", f"{HERE}/{one}")
    assert found["object"]["spec"] == {"host": "h"}
    assert found["message"] == "its definition does not have .spec.port any more"
    (then,) = await listed(api, selecting(HERE, resource=KIND, asOf=one))
    assert then["message"] == found["message"]
    found = await api.ok("POST", f"{HERE}/{one}/rollback")
    assert [left["path"] for left in found["notRestored"]] == [".spec.port"]
    assert "definition" in found["notRestored"][0]["reason"]
    assert (await api.ok("GET", f"{V1}/w"))["spec"] == {"host": "h"}
    found = await api.ok(
        "POST", f"{HERE}/{found['object']['metadata']['resourceVersion']}/rollback"
    )
    assert (found["unchanged"], found["notRestored"]) == (True, [])
    await api.ok("DELETE", f"{V1}/w")
    found = await api.ok("POST", f"{HERE}/{two}/undelete")
    assert [left["path"] for left in found["notRestored"]] == [".spec.port"]


async def two_fields(api: Api) -> tuple[str, str]:
    await define(api, None)
    made = await api.ok("POST", V1, widget("w", host="h", port=1))
    status, changed = await api.patch(f"{V1}/w", {"spec": {"host": "i", "port": 2}})
    assert status == 200, changed
    return made["metadata"]["resourceVersion"], changed["metadata"]["resourceVersion"]


async def without_port(api: Api) -> None:
    found = await api.ok("GET", CRD)
    for version in found["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].pop("port", None)
    changed = await api.ok("PUT", CRD, found)
    await api.until(lambda: seen(api, int(changed["metadata"]["resourceVersion"])))
