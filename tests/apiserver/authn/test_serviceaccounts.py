"""Whose a token is: in one tenant only, for the audiences that it names, and as long as all that it
stands on is there."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.authn import serviceaccounts
from apiserver.authn.accountclaims import Ref, Refused
from apiserver.authn.jose import parse
from apiserver.authn.serviceaccounts import AccountTokens, Recognized
from apiserver.authn.signing import derived
from apiserver.meta.gvk import GroupResource
from tests.support.waiting import at_once

NOW = datetime(2026, 1, 2, tzinfo=UTC)
A, B = (1, "default"), (2, "acme")
ACCOUNT = {"metadata": {"namespace": "ns", "name": "robot", "uid": "u1"}}
POD = {"metadata": {"namespace": "ns", "name": "pod", "uid": "u2"}}


class Objects:
    """A cache and a database behind it. asked: how often the database was asked."""

    def __init__(self, *stored: Any) -> None:
        self.stored = {o["metadata"]["name"]: o for o in stored}
        self.cached = dict(self.stored)
        self.asked = 0

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Any:
        assert namespace == ("" if resource.resource == "nodes" else "ns")
        self.asked += fresh
        return (self.stored if fresh else self.cached).get(name)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def issued(
    tokens: AccountTokens, tenant: tuple[int, str] = A, audiences: Sequence[str] = (), **bound: Ref
) -> str:
    audiences = list(audiences) or [tokens.issuer(tenant[1])]
    return at_once(tokens.issue(tenant, ACCOUNT, audiences, bound, 3600, NOW))


def recognized(tokens: AccountTokens, token: str, tenant: tuple[int, str] = A) -> Recognized:
    found = at_once(tokens.recognize(tenant, token))
    assert found is not None
    return found


async def user_name(
    tokens: AccountTokens, token: str, objects: Objects, tenant: tuple[int, str] = A, after: int = 0
) -> str:
    moment = NOW + timedelta(seconds=after)
    return (
        await tokens.admit(
            recognized(tokens, token, tenant), [tokens.issuer(tenant[1])], objects, moment
        )
    ).user.name


def test_issuers_tell_tenants_apart() -> None:
    tokens = AccountTokens(b"s")
    assert tokens.issuer("default") == "https://kubernetes.default.svc"
    assert tokens.issuer("acme") == "https://kubernetes.default.svc/clusters/acme"
    assert AccountTokens(b"s", "https://x").issuer("acme") == "https://x/clusters/acme"


async def test_a_token_is_good_where_it_was_issued_and_nowhere_else() -> None:
    tokens = AccountTokens(b"s")
    token = issued(tokens)
    assert (
        await user_name(AccountTokens(b"s"), token, Objects(ACCOUNT))
        == "system:serviceaccount:ns:robot"
    )
    assert await tokens.recognize(B, token) is None
    for impostor in (
        (2, "default"),
        (3, "default"),
    ):  # the same name with another number: made anew, or another installation
        with pytest.raises(Refused, match="invalid signature, no keys found"):
            await tokens.recognize(impostor, token)
    with pytest.raises(Refused, match="invalid signature, no keys found"):
        await AccountTokens(b"other").recognize(A, token)
    assert await AccountTokens(b"s", "https://elsewhere").recognize(A, token) is None


async def test_a_token_remembered_in_one_tenant_is_not_known_in_another() -> None:
    tokens = AccountTokens(b"s")
    token = issued(tokens, B)
    assert recognized(tokens, token, B) is recognized(tokens, token, B)
    assert await tokens.recognize(A, token) is None
    assert recognized(tokens, token, (2, "default")) is recognized(tokens, token, B)


async def test_what_says_to_be_ours_and_is_not_is_refused() -> None:
    tokens = AccountTokens(b"s")
    head, payload, signature = issued(tokens).split(".")
    turned = signature[:-2] + ("A" if signature[-2] != "A" else "B") + signature[-1]
    with pytest.raises(Refused, match="error in cryptographic primitive"):
        await tokens.recognize(A, f"{head}.{payload}.{turned}")
    with pytest.raises(Refused, match="unexpected private claim"):
        claims = {"iss": tokens.issuer("default"), "sub": "system:admin"}
        await tokens.recognize(A, derived(b"s", 1).sign(claims))
    for text in ("", "pp_operators", "a.b.c", "x" * 3_000_000, "." * 100_000, "\udc80.\udc80.x"):
        assert await tokens.recognize(A, text) is None


OURS = AccountTokens(b"s")
GOOD = issued(OURS)
_PART = (
    st.sampled_from(GOOD.split("."))
    | st.text(max_size=20)
    | st.binary(max_size=40).map(lambda b: urlsafe_b64encode(b).decode().rstrip("="))
)


@given(st.lists(_PART, max_size=4).map(".".join) | st.text())
def test_whatever_comes_is_ours_or_refused(text: str) -> None:
    try:
        found = at_once(OURS.recognize(A, text))
    except Refused:
        return
    assert found is None or parse(text) == parse(GOOD)


async def test_audiences_of_the_token_that_are_asked_for() -> None:
    tokens, objects = AccountTokens(b"s"), Objects(ACCOUNT)
    known = recognized(tokens, issued(tokens, audiences=["vault", "other"]))
    for asked in (["third", "other", "vault"], ["other", "other", "vault"]):
        found = (await tokens.admit(known, asked, objects, NOW)).audiences
        assert found == tuple(a for a in asked if a != "third"), "as they were asked for"
    twice = recognized(tokens, issued(tokens, audiences=["vault", "vault"]))
    assert (await tokens.admit(twice, ["vault"], objects, NOW)).audiences == ("vault",)
    with pytest.raises(Refused) as refused:
        await tokens.admit(known, ["third"], objects, NOW)
    assert (
        str(refused.value)
        == 'token audiences ["vault" "other"] is invalid for the target audiences ["third"]'
    )


async def test_an_expired_token_is_refused_although_it_is_remembered() -> None:
    tokens, objects = AccountTokens(b"s"), Objects(ACCOUNT)
    token = issued(tokens)
    await user_name(tokens, token, objects, after=3660)
    with pytest.raises(Refused, match="expired"):
        await user_name(tokens, token, objects, after=3661)


async def test_the_database_is_not_asked_for_a_token_that_is_good() -> None:
    tokens, objects = AccountTokens(b"s"), Objects(ACCOUNT, POD)
    token = issued(tokens, pod=Ref("pod", "u2"), node=Ref("node", "unknown"))
    for _ in range(3):
        await user_name(tokens, token, objects)
    assert objects.asked == 0


@pytest.mark.parametrize("lagging", ["robot", "pod"])
async def test_what_a_cache_does_not_know_yet_is_looked_up(lagging: str) -> None:
    tokens, objects = AccountTokens(b"s"), Objects(ACCOUNT, POD)
    token = issued(tokens, pod=Ref("pod", "u2"))
    del objects.cached[lagging]
    assert await user_name(tokens, token, objects)
    objects.cached[lagging] = {"metadata": {"name": lagging, "uid": "of the one before"}}
    assert await user_name(tokens, token, objects)


async def test_a_dead_token_costs_one_look_in_two_seconds() -> None:
    clock = Clock()
    tokens, objects = AccountTokens(b"s", clock=clock), Objects(ACCOUNT)
    token = issued(tokens, pod=Ref("pod", "u2"))
    for _ in range(5):
        with pytest.raises(Refused, match="has been invalidated"):
            await user_name(tokens, token, objects)
    assert objects.asked == 2  # account and pod
    clock.now += 2
    with pytest.raises(Refused):
        await user_name(tokens, token, objects)
    assert objects.asked == 4


async def test_no_more_is_remembered_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serviceaccounts, "_REMEMBERED", 3)
    tokens = AccountTokens(b"s")
    many = [issued(tokens) for _ in range(5)]
    for token in many:
        recognized(tokens, token)
        recognized(tokens, many[0])
    assert len(tokens._recognized) == 3
    assert await user_name(tokens, many[1], Objects(ACCOUNT))
