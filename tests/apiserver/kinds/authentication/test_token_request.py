from __future__ import annotations

from typing import Any

import pytest

from apiserver.errors import ApiError, BadRequest
from apiserver.kinds.authentication.reviews import self_subject_review, token_of, token_review
from apiserver.kinds.authentication.token_request import check_token_request, default_token_request
from apiserver.user import User

Object = dict[str, Any]
USER = User("u", "1", ("g",), {"k": ("v",)})
SHOWN = {"username": "u", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}}


def request(name: str = "", **spec: Any) -> Object:
    return {"metadata": {"name": name} if name else {}, "spec": spec}


def test_defaults() -> None:
    made = request()
    default_token_request(made, ["https://api"])
    assert made["spec"] == {"expirationSeconds": 3600, "audiences": ["https://api"], "boundObjectRef": None}
    kept = request(audiences=["vault"], expirationSeconds=1200)
    default_token_request(kept, ["https://api"])
    assert kept["spec"]["audiences"] == ["vault"] and kept["spec"]["expirationSeconds"] == 1200


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (
            request("other"),
            422,
            'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "other": '
            "must match the service account name if specified",
        ),
        (
            request(expirationSeconds=60),
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: '
            "may not specify a duration less than 10 minutes",
        ),
        (
            request(expirationSeconds=4294967297),
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: '
            "may not specify a duration larger than 2^32 seconds",
        ),
        (
            request(boundObjectRef={"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}),
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
    ],
)
def test_requests_that_are_refused(asked: Object, code: int, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        check_token_request(asked, "robot")
    assert (refused.value.code, refused.value.message) == (code, message)


def test_requests_that_are_fine() -> None:
    check_token_request(request("robot", expirationSeconds=600), "robot")
    check_token_request(request(boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "x"}), "robot")


def test_reviews_show_the_user_without_empty_members() -> None:
    assert self_subject_review({"kind": "SelfSubjectReview"}, USER)["status"] == {"userInfo": SHOWN}
    assert self_subject_review({}, User("u"))["status"] == {"userInfo": {"username": "u"}}
    answer = token_review({"spec": {"token": "t"}}, USER, ["a"])
    assert answer == {"spec": {"token": "t"}, "metadata": {}, "status": {"authenticated": True, "user": SHOWN, "audiences": ["a"]}}
    assert token_review({}, None, error="expired")["status"] == {"user": {}, "error": "expired"}


def test_a_token_review_needs_a_token() -> None:
    assert token_of({"spec": {"token": "t"}}) == "t"
    with pytest.raises(BadRequest, match="token is required for TokenReview in authentication"):
        token_of({"spec": {}})
