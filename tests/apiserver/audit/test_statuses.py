"""responseStatus of answers that are a Status though nothing failed: more than a code."""

from __future__ import annotations

from tests.support.auditworld import MAPS, World


async def test_an_answer_that_is_a_status_is_told_of(full: World) -> None:
    assert await full("POST", MAPS, {"metadata": {"name": "a"}}) == 201
    assert await full("DELETE", f"{MAPS}/a?dryRun=All") == 200
    assert await full("DELETE", f"{MAPS}/a") == 200
    made, *gone = (entry["data"] for entry in await full.entries())
    details = {"name": "a", "kind": "configmaps", "uid": made["objectRef"]["uid"]}
    status = {"metadata": {}, "status": "Success", "details": details, "code": 200}
    assert [event["responseStatus"] for event in gone] == [status, status]
    assert full.heard.events[-1]["responseStatus"] == status
    assert "code" not in gone[1]["responseObject"]
    assert gone[1]["responseObject"]["details"] == details
    assert made["responseStatus"] == {"metadata": {}, "code": 201}


async def test_an_answer_that_is_the_object_is_not_told_of_as_a_status(full: World) -> None:
    finalized = {"metadata": {"name": "a", "finalizers": ["example.com/f"]}}
    assert await full("POST", MAPS, finalized) == 201
    assert await full("DELETE", f"{MAPS}/a") == 200
    account = {"metadata": {"name": "s"}}
    assert await full("POST", "/api/v1/namespaces/ns/serviceaccounts", account) == 201
    assert await full("DELETE", "/api/v1/namespaces/ns/serviceaccounts/s") == 200
    assert await full("DELETE", MAPS) == 200
    for entry in await full.entries():
        assert entry["data"]["responseStatus"].keys() == {"metadata", "code"}


async def test_an_eviction_answers_with_a_status(full: World) -> None:
    pods = "/api/v1/namespaces/ns/pods"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert await full("POST", pods, pod) == 201
    eviction = {"metadata": {"name": "p"}}
    assert await full("POST", f"{pods}/p/eviction", eviction) == 201
    status = {"metadata": {}, "status": "Success", "code": 201}
    told = [e["data"]["responseStatus"] for e in await full.entries(verb="create")]
    assert told[1:] and all(each == status for each in told[1:])
    assert full.heard.events[-1]["responseStatus"] == status
