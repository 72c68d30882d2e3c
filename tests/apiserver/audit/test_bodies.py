"""requestObject, responseObject and what of objectRef comes from them: as upstream's handlers tell
the audit log."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api import TYPES
from tests.support.auditworld import MAPS, World

PODS = "/api/v1/namespaces/ns/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def last(world: World) -> dict[str, Any]:
    return world.heard.events[-1]


async def test_what_was_sent_is_told_as_it_was_read(full: World) -> None:
    pod = {"metadata": {"name": "p"}, "foo": 1, "spec": {"containers": [{"name": "c"}]}}
    assert await full("POST", PODS, pod) == 422
    sent = last(full)["requestObject"]
    assert (sent["kind"], sent["apiVersion"]) == ("Pod", "v1")
    assert sent["spec"]["restartPolicy"] == "Always" and "foo" not in sent
    (entry,) = await full.entries(verb="create")
    assert entry["data"]["requestObject"] == sent


async def test_other_encodings_are_told_as_json(full: World) -> None:
    assert await full("POST", MAPS, b"metadata: {name: yam}", type="application/yaml") == 201
    assert last(full)["requestObject"]["metadata"] == {"name": "yam"}


@pytest.mark.parametrize(
    ("body", "query"),
    [(b"{", ""), ({"metadata": {"name": "a"}, "foo": 1}, "?fieldValidation=Strict")],
)
async def test_what_cannot_be_read_is_not_told(full: World, body: Any, query: str) -> None:
    assert await full("POST", MAPS + query, body) == 400
    event = last(full)
    assert "requestObject" not in event and "name" not in event["objectRef"]
    assert event["responseObject"]["reason"] == "BadRequest"


async def test_an_object_that_is_not_stored_is_named_as_it_names_itself(full: World) -> None:
    assert await full("POST", MAPS, {"metadata": {"name": "A", "uid": "u"}}) == 422
    assert last(full)["objectRef"].items() >= {"name": "A", "uid": "u"}.items()
    assert await full("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "b"}}) == 201
    assert last(full)["objectRef"]["name"] == "b"
    stale = {"metadata": {"name": "b", "resourceVersion": "7"}}
    assert await full("PUT", f"{MAPS}/b", stale) == 404
    assert last(full)["objectRef"]["resourceVersion"] == "7"


async def test_a_patch_is_told_as_it_was_sent(full: World) -> None:
    patch = {"data": {"a": "b"}, "foo": 1}
    assert await full("PATCH", f"{MAPS}/a", patch, type=TYPES["merge"]) == 404
    assert last(full)["requestObject"] == patch


async def test_failures_are_told_as_they_are_answered(full: World) -> None:
    assert await full("GET", f"{MAPS}/none") == 404
    assert last(full)["responseObject"] == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "none" not found',
        "reason": "NotFound",
        "details": {"name": "none", "kind": "configmaps"},
        "code": 404,
    }
    assert await full("GET", f"{MAPS}/none/scale") == 404
    assert last(full)["responseStatus"]["details"] == {}


async def test_tables_are_told_without_managed_fields(full: World) -> None:
    assert await full("POST", MAPS, {"metadata": {"name": "a"}}) == 201
    for path in (f"{MAPS}/a?includeObject=Object", f"{MAPS}?includeObject=Object"):
        assert await full("GET", path, accept=TABLE) == 200
        answer = last(full)["responseObject"]
        (obj,) = (row["object"]["metadata"] for row in answer["rows"])
        assert (answer["kind"], obj["name"], "managedFields" in obj) == ("Table", "a", False)


async def test_documents_are_told_where_they_are_objects(full: World) -> None:
    for path, there in (("/api", True), ("/apis", True), ("/version", False)):
        assert await full("GET", path) == 200
        assert ("responseObject" in last(full)) is there


async def test_what_lasts_begins_though_it_fails_at_once(full: World) -> None:
    for path, code in ((f"{PODS}/p/log", 404), (f"{MAPS}?watch=true&resourceVersion=x", 500)):
        full.heard.events.clear()
        assert await full("GET", path) == code
        received, started, complete = full.heard.events
        assert [received["stage"], started["stage"]] == ["RequestReceived", "ResponseStarted"]
        assert complete["stage"] == "ResponseComplete"
        assert started["responseStatus"] == complete["responseStatus"]
    full.heard.events.clear()
    assert await full("GET", f"{MAPS}/p") == 404
    assert [e["stage"] for e in full.heard.events] == ["RequestReceived", "ResponseComplete"]
