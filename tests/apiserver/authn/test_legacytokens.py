"""Tokens of secrets: good as long as the secret holds them, in their own tenant."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.authn.accountclaims import Ref, Refused
from apiserver.authn.jose import parse
from apiserver.authn.legacytokens import ISSUER, WARNING
from apiserver.authn.serviceaccounts import AccountTokens, Authenticated
from apiserver.authn.signing import derived
from apiserver.meta.gvk import GroupResource
from tests.support.waiting import at_once

NOW = datetime(2026, 1, 2, tzinfo=UTC)
A, B = (1, "default"), (2, "acme")
TOKENS = AccountTokens(b"secret")
ROBOT = Ref("robot", "u1")


class Objects:
    """What is there, in the cache and in the database."""

    def __init__(self, token: str, **account: Any) -> None:
        self.account = {"metadata": {"namespace": "ns", "name": "robot", "uid": "u1"}, **account}
        data = {"token": base64.b64encode(token.encode()).decode()}
        self.secret: Any = {"metadata": {"namespace": "ns", "name": "s", "uid": "u2"}, "data": data}

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Any:
        found = {"secrets": self.secret, "serviceaccounts": self.account}[resource.resource]
        return found if found and found["metadata"]["name"] == name else None


async def admitted(
    objects: Objects, token: str, tenant: tuple[int, str] = A, uses: list[str] | None = None
) -> Authenticated:
    tokens = AccountTokens(b"secret")
    found = await tokens.recognize(tenant, token)
    assert found is not None

    def used(namespace: str, secret: str) -> None:
        if uses is not None:
            uses.append(f"{namespace}/{secret}")

    return await tokens.admit(found, [tokens.issuer(tenant[1])], objects, NOW, used)


def issued(tenant: tuple[int, str] = A) -> str:
    return at_once(TOKENS.issue_legacy(tenant, "ns", ROBOT, "s"))


async def test_a_token_says_who_has_it() -> None:
    token, uses = issued(), list[str]()
    found = await admitted(Objects(token), token, uses=uses)
    assert found.user.name == "system:serviceaccount:ns:robot"
    assert found.user.uid == "u1"
    assert found.user.groups[:2] == ("system:serviceaccounts", "system:serviceaccounts:ns")
    assert (found.warning, uses) == ("", ["ns/s"])
    parsed = parse(token)
    assert parsed is not None and parsed.claims == {
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io/serviceaccount/namespace": "ns",
        "kubernetes.io/serviceaccount/secret.name": "s",
        "kubernetes.io/serviceaccount/service-account.name": "robot",
        "kubernetes.io/serviceaccount/service-account.uid": "u1",
        "sub": "system:serviceaccount:ns:robot",
    }


@pytest.mark.parametrize("day", ["2026-01-02", "2026-01-03"])
async def test_a_use_is_noted_once_a_day(day: str) -> None:
    token, uses = issued(), list[str]()
    objects = Objects(token)
    labels = {"kubernetes.io/legacy-token-last-used": day}
    objects.secret["metadata"]["labels"] = labels
    await admitted(objects, token, uses=uses)
    assert uses == []
    labels["kubernetes.io/legacy-token-last-used"] = "2026-01-01"
    await admitted(objects, token, uses=uses)
    assert uses == ["ns/s"]


async def test_who_has_one_that_nobody_asked_for_is_warned() -> None:
    token = issued()
    assert (await admitted(Objects(token, secrets=[{"name": "s"}]), token)).warning == WARNING


async def refusal(objects: Objects, token: str) -> str:
    with pytest.raises(Refused) as caught:
        await admitted(objects, token)
    return str(caught.value)


async def test_it_dies_with_its_secret_and_its_account() -> None:
    token = issued()
    gone = Objects(token)
    gone.secret = None
    assert await refusal(gone, token) == "Token has been invalidated"
    dying = Objects(token)
    dying.secret["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert await refusal(dying, token) == "Token has been invalidated"
    other = Objects(issued(B))
    assert await refusal(other, token) == "Token does not match server's copy"
    another = Objects(token)
    another.account["metadata"]["uid"] = "u9"
    assert await refusal(another, token) == "ServiceAccount UID (u9) does not match claim (u1)"
    nobody = Objects(token)
    nobody.account["metadata"]["name"] = "other"
    assert await refusal(nobody, token) == 'serviceaccounts "robot" not found'


async def test_one_that_is_marked_is_refused_and_its_use_is_noted() -> None:
    token, uses = issued(), list[str]()
    objects = Objects(token)
    label = "kubernetes.io/legacy-token-invalid-since"
    objects.secret["metadata"]["labels"] = {label: "2025-01-01"}
    with pytest.raises(Refused, match="in secret ns/s for service account ns/robot has been"):
        await admitted(objects, token, uses=uses)
    assert uses == ["ns/s"]


async def test_it_is_good_in_no_other_tenant() -> None:
    with pytest.raises(Refused, match="no keys found"):
        await admitted(Objects(issued()), issued(), B)
    with pytest.raises(Refused, match="no keys found"):
        await admitted(Objects(issued(B)), issued(B), A)
    with pytest.raises(Refused, match="audiences"):
        tokens = AccountTokens(b"secret")
        found = await tokens.recognize(A, issued())
        assert found is not None
        await tokens.admit(found, ["vault"], Objects(issued()), NOW)


def test_it_says_which_tenant_it_is_for() -> None:
    assert TOKENS.claimed_tenant(issued()) == "default"
    assert TOKENS.claimed_tenant(issued(B)) == "acme"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"sub": ""}, "sub claim is missing"),
        ({"kubernetes.io/serviceaccount/secret.name": None}, "secretName claim is missing"),
        ({"kubernetes.io/serviceaccount/service-account.uid": 7}, "serviceAccountUID claim"),
        ({"sub": "system:serviceaccount:ns:other"}, "sub claim is invalid"),
    ],
)
async def test_claims_that_are_not_right(changed: dict[str, Any], why: str) -> None:
    parsed = parse(issued())
    assert parsed is not None
    token = derived(b"secret", 1).sign({**parsed.claims, **changed, "iss": ISSUER})
    with pytest.raises(Refused, match=why):
        await AccountTokens(b"secret").recognize(A, token)
