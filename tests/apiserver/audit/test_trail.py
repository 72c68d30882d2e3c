"""Events that are made of what is known of a request."""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.audit.policy import COMPLETE, STARTED, Level, Verdict
from apiserver.audit.trail import TRUNCATED, Trail
from apiserver.errors import ApiError
from apiserver.request import parse_request
from apiserver.storage.interface import ObjectKey
from apiserver.user import User

_INFO = parse_request("POST", "/api/v1/namespaces/ns/configmaps")


def test_what_else_a_request_changes_goes_by_its_own_name_without_bodies() -> None:
    info = parse_request("POST", "/api/v1/namespaces/ns/pods/p/eviction")
    trail = Trail(Verdict(Level.REQUEST_RESPONSE), "default", info, User("ann"), audit_id="x")
    budget = ObjectKey("policy", "poddisruptionbudgets", "ns", "budget")
    pod = ObjectKey("", "pods", "ns", "p")
    other, own = (
        orjson.loads(trail.entry(k, "uid", 200, {}, {"metadata": {}}).data) for k in (budget, pod)
    )
    assert other["objectRef"] == {
        "resource": "poddisruptionbudgets",
        "namespace": "ns",
        "name": "budget",
        "uid": "uid",
        "apiGroup": "policy",
    }
    assert "responseObject" not in other and "responseObject" in own
    assert (own["objectRef"]["name"], own["objectRef"]["subresource"]) == ("p", "eviction")


def test_an_object_that_is_nested_deeply_has_a_body() -> None:
    obj: dict[str, Any] = {"metadata": {"managedFields": []}}
    for _ in range(400):
        obj = {"a": obj}
    for omit in (False, True):
        trail = Trail(
            Verdict(Level.REQUEST_RESPONSE, omit_managed=omit), "t", _INFO, None, audit_id=""
        )
        assert trail.body(obj).count(b'"a"') == 400
        assert (trail.answer(trail.body(obj)) or b"").count(b'"a"') == 400
        assert trail.answer(b'["a"]') == b'["a"]'
        assert TRUNCATED not in trail.annotations
        assert trail.answer(b"[" * 2000 + b"]" * 2000) is None
        assert TRUNCATED in trail.annotations


def test_causes_at_any_length_are_left_out() -> None:
    few, many = ([{"reason": "R", "message": "m"}] * count for count in (2, 200))
    for causes, told in ((few, {"name": "n", "causes": few}), (many, {"name": "n"})):
        error = ApiError("m", code=422, details={"name": "n", "causes": causes})
        trail = Trail(Verdict(Level.METADATA), "t", _INFO, None, audit_id="")
        event = orjson.loads(trail.event(COMPLETE, 422, error))
        assert event["responseStatus"]["details"] == told


def test_a_status_that_answers_is_told_when_it_has_been_answered() -> None:
    told = {"kind": "Status", "metadata": {}, "status": "Success", "details": {"name": "p"}}
    trail = Trail(Verdict(Level.METADATA), "t", _INFO, None, audit_id="")
    trail.told = told
    begun, done, failed = (
        orjson.loads(trail.event(stage, code, error))["responseStatus"]
        for stage, code, error in (
            (STARTED, 200, None),
            (COMPLETE, 200, None),
            (COMPLETE, 409, ApiError("m", code=409)),
        )
    )
    assert begun == {"metadata": {}, "code": 200}
    assert done == {"metadata": {}, "code": 200, "status": "Success", "details": {"name": "p"}}
    assert (failed["status"], "details" in failed) == ("Failure", False)
