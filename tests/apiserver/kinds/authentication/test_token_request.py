from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.errors import ApiError, BadRequest
from apiserver.kinds.authentication.reviews import token_of, token_review, user_info
from apiserver.kinds.authentication.token_request import (
    bound_kind,
    check_bound,
    check_name,
    default_token_request,
    fill_token_request,
    validate_token_request,
)
from apiserver.meta.objects import Object
from apiserver.user import User

USER = User("u", "1", ("g",), {"k": ("v",)})
SHOWN = {"username": "u", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}}


def request(name: str = "", **spec: Any) -> Object:
    return {"metadata": {"name": name} if name else {}, "spec": spec}


def test_defaults() -> None:
    made = request()
    default_token_request(made)
    assert made["spec"] == {"expirationSeconds": 3600, "audiences": None, "boundObjectRef": None}
    kept = request(audiences=["vault"], expirationSeconds=1200)
    default_token_request(kept)
    assert kept["spec"]["audiences"] == ["vault"] and kept["spec"]["expirationSeconds"] == 1200


ACCOUNT = {"metadata": {"name": "robot", "namespace": "ns", "uid": "u1", "labels": {"a": "b"}}}


def test_what_a_request_leaves_out_is_the_accounts() -> None:
    made = {**request(audiences=[]), "status": {"token": "of the client"}}
    fill_token_request(made, ACCOUNT, ["https://api"], "2026-01-02T03:04:05Z")
    assert made["metadata"] == {
        "name": "robot",
        "namespace": "ns",
        "uid": "u1",
        "creationTimestamp": "2026-01-02T03:04:05Z",
    }
    assert made["spec"]["audiences"] == ["https://api"] and made["status"] == {
        "token": "",
        "expirationTimestamp": None,
    }
    made["spec"]["audiences"] = ["vault"]
    fill_token_request(made, ACCOUNT, ["https://api"], "")
    assert made["spec"]["audiences"] == ["vault"]


def refusal(check: Callable[[], Any]) -> tuple[int, str]:
    with pytest.raises(ApiError) as refused:
        check()
    return refused.value.code, refused.value.message


def test_a_request_for_another_account_of_the_name() -> None:
    asked = {"metadata": {"uid": "u9"}, "spec": {}}
    assert refusal(lambda: fill_token_request(asked, ACCOUNT, [], "")) == (
        409,
        'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": '
        "the UID in the token request (u9) does not match the UID of the service account (u1)",
    )
    assert fill_token_request(asked, ACCOUNT, ["a"], "", strict=False) == [
        "the UID in the token request (u9) does not match the UID of the service account (u1) but "
        "TokenRequestServiceAccountUIDValidation "
        "is not enabled. In the future, this will return a conflict error"
    ]
    assert asked["metadata"]["uid"] == "u9"
    check_name(request("robot"), "robot")
    check_name(request(), "robot")
    assert refusal(lambda: check_name(request("other"), "robot")) == (
        422,
        'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: '
        '"other": '
        "must match the service account name if specified",
    )


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        (600, ""),
        (1 << 32, ""),
        (599, "may not specify a duration less than 10 minutes"),
        (0, "may not specify a duration less than 10 minutes"),
        (-1, "may not specify a duration less than 10 minutes"),
        ((1 << 32) + 1, "may not specify a duration larger than 2^32 seconds"),
    ],
)
def test_how_long_a_token_may_last(seconds: int, why: str) -> None:
    asked = request(expirationSeconds=seconds)
    if not why:
        validate_token_request(asked)
        return
    text = (
        f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: '
        f"Invalid value: {seconds}: {why}"
    )
    assert refusal(lambda: validate_token_request(asked)) == (422, text)


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        (
            {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"},
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
        (
            {"kind": "Pod", "apiVersion": "apps/v1", "name": "x"},
            "cannot bind token to object of type apps/v1, Kind=Pod",
        ),
        (
            {"kind": "X", "apiVersion": "a/b/c", "name": "x"},
            "cannot bind token to object of type /, Kind=X",
        ),
        ({}, "cannot bind token to object of type /, Kind="),
        ({"kind": "Pod", "apiVersion": "v1"}, "Name parameter required."),
        (
            {"kind": "Pod", "apiVersion": "v1", "name": "a/b"},
            "Name parameter invalid: \"a/b\": may not contain '/'",
        ),
        (
            {"kind": "Pod", "apiVersion": "v1", "name": ".."},
            "Name parameter invalid: \"..\": may not be '..'",
        ),
    ],
)
def test_what_a_token_cannot_be_bound_to(ref: Object, text: str) -> None:
    assert refusal(lambda: bound_kind(ref)) == (400, text)


@pytest.mark.parametrize("version", ["v1", "", "v7"])
@pytest.mark.parametrize("kind", ["Pod", "Secret", "Node"])
def test_what_a_token_can_be_bound_to(kind: str, version: str) -> None:
    ref = {"kind": kind, "apiVersion": version, "name": "x"}
    assert bound_kind(ref) == kind
    found = {"metadata": {"uid": "u2"}, "spec": {"serviceAccountName": "robot"}}
    check_bound(ref, found, "robot")
    check_bound({**ref, "uid": "u2"}, found, "robot")
    assert refusal(lambda: check_bound({**ref, "uid": "u9"}, found, "robot")) == (
        409,
        f'Operation cannot be fulfilled on {kind} "x": the UID in the bound object reference (u9) '
        f"does not match the UID in record. "
        "The object might have been deleted and then recreated",
    )
    if kind == "Pod":
        text = (
            'cannot bind token for serviceaccount "other" to pod running with different '
            "serviceaccount name."
        )
        assert refusal(lambda: check_bound(ref, found, "other")) == (400, text)


def test_reviews_show_the_user_without_empty_members() -> None:
    assert user_info(USER) == SHOWN
    assert user_info(User("u")) == {"username": "u"}
    answer = token_review({"spec": {"token": "t"}}, USER, ["a"])
    assert answer == {
        "spec": {"token": "t"},
        "metadata": {},
        "status": {"authenticated": True, "user": SHOWN, "audiences": ["a"]},
    }
    assert token_review({}, None, error="expired")["status"] == {"user": {}, "error": "expired"}


def test_a_token_review_needs_a_token() -> None:
    assert token_of({"spec": {"token": "t"}}) == "t"
    with pytest.raises(BadRequest, match="token is required for TokenReview in authentication"):
        token_of({"spec": {}})
