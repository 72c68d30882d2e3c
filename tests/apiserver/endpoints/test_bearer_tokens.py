"""Where a request has its bearer token, and what is none."""

from __future__ import annotations

import base64

import pytest

from apiserver.endpoints.filters.authentication import bearer_token
from apiserver.endpoints.request import ApiRequest
from apiserver.errors import Unauthorized
from apiserver.storage.postgres import PostgresStore
from tests.support.api import receive_of, serving

SPACE = (
    "the provided Authorization header contains extra space before the bearer token, and is ignored"
)


def request(kind: str = "http", **headers: str) -> ApiRequest:
    sent = [(name.replace("_", "-").encode(), v.encode()) for name, v in headers.items()]
    scope = {"type": kind, "method": "GET", "path": "/api", "headers": sent}
    return ApiRequest(scope, receive_of())


def offered(*tokens: str, others: str = ", v4.channel.k8s.io") -> str:
    names = [base64.urlsafe_b64encode(t.encode()).decode().rstrip("=") for t in tokens]
    return ", ".join(f"base64url.bearer.authorization.k8s.io.{n}" for n in names) + others


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer t", "t"),
        (" bearer t ", "t"),
        ("BEARER t of many words", "t"),
        ("Bearer", ""),
        ("Bearer ", ""),
        ("Bearer\tt", ""),
        ("Basic t", ""),
        ("t", ""),
        ("", ""),
    ],
)
def test_the_first_word_behind_the_scheme_counts(header: str, token: str) -> None:
    asked = request(authorization=header)
    assert bearer_token(asked) == token
    assert asked.warnings == []


async def test_a_space_too_many_makes_no_token_and_is_told(
    store: PostgresStore, tenant: int
) -> None:
    asked = request(authorization="Bearer  t")
    assert bearer_token(asked) == "" and asked.warnings == [SPACE]
    async with serving(store, tenant) as api:
        assert (await api("GET", "/api/v1/namespaces", authorization="Bearer  t"))[0] == 200
        assert api.warnings == [f'299 - "{SPACE}"']


@pytest.mark.parametrize(
    ("protocols", "token"),
    [(offered("t"), "t"), (offered("ü.x"), "ü.x"), (offered(""), ""), ("v4.channel.k8s.io", "")],
)
def test_a_socket_may_have_it_among_its_protocols(protocols: str, token: str) -> None:
    assert bearer_token(request("websocket", sec_websocket_protocol=protocols)) == token
    assert bearer_token(request(sec_websocket_protocol=protocols)) == "", "this is no socket"


@pytest.mark.parametrize(
    "protocols",
    [
        offered("t", "u"),
        offered("t", "t"),
        offered("t", others=""),
        "base64url.bearer.authorization.k8s.io.a, x",
        "base64url.bearer.authorization.k8s.io.dA==, x",
        "base64url.bearer.authorization.k8s.io.d A, x",
        "base64url.bearer.authorization.k8s.io.+/, x",
        "base64url.bearer.authorization.k8s.io._w, x",
    ],
)
def test_what_is_no_token_is_refused(protocols: str) -> None:
    with pytest.raises(Unauthorized):
        bearer_token(request("websocket", sec_websocket_protocol=protocols))
