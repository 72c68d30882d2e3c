"""Groups that another server knows: who is asked, what is believed, and what refuses a token.

| the token says | and | groups |
|---|---|---|
| groups, and where they are | | its own; nobody is asked |
| nothing of groups, or of another claim only | | none |
| a source with an endpoint | a token by the provider, or by an issuer that publishes keys | its |
| a source that carries a token (aggregated) | | none, as upstream |
| a source that is not there, or no sources | | refused |
| an endpoint | no answer, no token, another audience, expired, another's key, no groups | refused |
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiserver.authn.accountclaims import Refused
from apiserver.authn.providers import Unreachable
from apiserver.user import User
from tests.support.oidctokens import (
    NOW,
    OTHER,
    TENANT,
    URL,
    World,
    ec_key,
    jwk,
    rsa_key,
    token,
    tokens,
)

ENDPOINT = "https://groups.example.com/of?u=alice"
ELSEWHERE = {
    "_claim_names": {"groups": "s"},
    "_claim_sources": {"s": {"endpoint": ENDPOINT, "access_token": "open"}},
}


def world(answer: str = "") -> World:
    found = World(jwk(rsa_key()), jwk(ec_key(), "e"))
    found.documents[ENDPOINT] = answer.encode()
    return found


async def groups(found: World, claims: dict[str, Any]) -> list[str]:
    user = await tokens(found).user(TENANT, token(claims))
    assert isinstance(user, User)
    return [group for group in user.groups if group.startswith("g:")]


def source(**said: Any) -> dict[str, Any]:
    return {"_claim_names": {"groups": "s"}, "_claim_sources": {"s": said}}


async def test_the_server_is_asked_with_the_token_that_it_gave_out() -> None:
    found = world(token({"groups": ["a", "b"]}))
    assert await groups(found, ELSEWHERE) == ["g:a", "g:b"]
    assert (found.asked.count(ENDPOINT), found.shown) == (1, ["open"])
    assert await groups(found, source(endpoint=ENDPOINT)) == ["g:a", "g:b"]
    assert found.shown == ["open", ""]


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({**ELSEWHERE, "groups": ["own"]}, ["g:own"]),
        ({}, []),
        ({"_claim_sources": {"s": {"endpoint": ENDPOINT}}}, []),
        ({"_claim_names": {"age": "s"}, "_claim_sources": {"s": {"endpoint": ENDPOINT}}}, []),
        (source(JWT=token({"groups": ["aggregated"]})), []),
        (source(endpoint=""), []),
    ],
)
async def test_nobody_is_asked_without_need(claims: dict[str, Any], expected: list[str]) -> None:
    found = world(token({"groups": ["a"]}))
    assert await groups(found, claims) == expected
    assert ENDPOINT not in found.asked


NO_STRING = "into Go struct field claimSource._claim_sources"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"_claim_names": {}}, "oidc: no claim sources"),
        ({"_claim_names": None}, "oidc: no claim sources"),
        ({"_claim_names": {"groups": "s"}}, "oidc: source does not exist"),
        ({"_claim_names": {"age": "s"}, "_claim_sources": {}}, "oidc: source does not exist"),
        (source(endpoint=ENDPOINT) | {"_claim_names": {"age": ""}}, "failed to obtain source from"),
        (source(endpoint=ENDPOINT) | {"_claim_names": {"groups": None}}, "failed to obtain source"),
        (
            {"_claim_names": {"groups": "s"}, "_claim_sources": {"s": "https://x"}},
            "string into Go struct field idToken._claim_sources of type oidc.claimSource",
        ),
        (
            {"_claim_names": {"groups": "s"}, "_claim_sources": ["s"]},
            "array into Go struct field idToken._claim_sources of type map\\[string]oidc",
        ),
        (
            source(endpoint=ENDPOINT) | {"_claim_names": {"groups": ["s"]}},
            "array into Go struct field idToken._claim_names of type string",
        ),
        (
            source(endpoint=ENDPOINT) | {"_claim_names": "groups"},
            "string into Go struct field idToken._claim_names of type map\\[string]string",
        ),
        (source(endpoint=[ENDPOINT]), f"array {NO_STRING}.endpoint of type string"),
        (source(endpoint=ENDPOINT, access_token={"a": 1}), f"object {NO_STRING}.access_token of"),
        (source(endpoint=ENDPOINT, access_token="a\r\nX-Remote-User: admin"), "no addresses"),
        (source(endpoint=ENDPOINT + "\n"), "they are no addresses and tokens"),
        (source(endpoint=ENDPOINT + "\u00fc"), "they are no addresses and tokens"),
    ],
)
async def test_what_is_no_source_refuses_the_token(claims: dict[str, Any], why: str) -> None:
    found = world(token({"groups": ["a"]}))
    with pytest.raises(Refused, match=why):
        await groups(found, claims)
    assert ENDPOINT not in found.asked


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "it answered no token"),
        ("{}", "it answered no token"),
        ("ä.b.c", "it answered no token"),
        (token(), "did not contain claim: groups"),
        (token({"groups": ["a"], "aud": "others"}), "expected audience"),
        (token({"groups": ["a"], "exp": NOW - 1}), "token is expired"),
        (token({"groups": ["a"]}, key=rsa_key("another")), "failed to verify signature"),
        (token({"groups": ["a"]}).rpartition(".")[0] + ".AAAA", "failed to verify signature"),
        (token({"groups": ["a"], "iss": OTHER}), "not initialized"),
        (token({"groups": [1]}), "array into Go value of type string"),
    ],
)
async def test_what_is_not_believed(answer: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        await groups(world(answer), ELSEWHERE)


async def test_a_server_that_cannot_be_asked_leaves_it_open_whose_the_token_is() -> None:
    found = world()
    held = tokens(found)
    await held.user(TENANT, token())
    found.broken = True
    with pytest.raises(Unreachable, match='distributed claim "groups": it is away'):
        await held.user(TENANT, token(ELSEWHERE))


async def test_another_issuer_is_believed_by_the_keys_that_it_publishes() -> None:
    found = world(token({"groups": ["a"], "iss": OTHER}, key=rsa_key("their"), kid="t"))
    document = {"issuer": OTHER, "jwks_uri": f"{OTHER}/their-keys"}
    found.documents[f"{OTHER}/.well-known/openid-configuration"] = json.dumps(document).encode()
    keys = {"keys": [jwk(rsa_key("their"), "t")]}
    found.documents[f"{OTHER}/their-keys"] = json.dumps(keys).encode()
    assert await groups(found, ELSEWHERE) == ["g:a"]
    with pytest.raises(Refused, match="verify"):  # of the first, that key is none
        await tokens(found).user(TENANT, token({"iss": URL}, key=rsa_key("their"), kid="t"))


async def test_few_issuers_are_remembered() -> None:
    found = world()
    held = tokens(found)
    for i in range(12):
        found.documents[ENDPOINT] = token({"groups": ["a"], "iss": f"{OTHER}/{i}"}).encode()
        with pytest.raises(Refused):
            await held.user(TENANT, token({**ELSEWHERE, "jti": str(i)}))
    (authenticator,) = held.installation.by_url.values()
    assert authenticator._sources is not None
    assert list(authenticator._sources._others) == [f"{OTHER}/{i}" for i in range(4, 12)]
