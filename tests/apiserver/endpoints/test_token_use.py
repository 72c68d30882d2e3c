"""Tokens of service accounts in use: whom they speak for, what under RBAC, in which tenant, for
which audience, and how a client verifies them."""

from __future__ import annotations

import base64
import random
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import pytest_asyncio

from apiserver.authn.jose import parse
from apiserver.endpoints.request import MAX_HEAD
from apiserver.storage.postgres import PostgresStore
from tests.support.accounttokens import (
    ACCOUNT,
    NS,
    RBAC,
    ROOT,
    issue,
    payload,
    review,
    serving_tokens,
    status,
    token,
)
from tests.support.api import Api


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving_tokens(store, tenant) as served:
        yield served


async def test_who_uses_it_is_the_account(api: Api) -> None:
    secret = await token(api)
    _, body = await api("GET", f"{NS}/configmaps", authorization=f"Bearer {secret}")
    assert 'User "system:serviceaccount:ns:robot" cannot list' in body["message"]
    reviewed = await review(api, secret)
    assert reviewed["authenticated"] and reviewed["audiences"] == ["https://kubernetes.default.svc"]
    user = reviewed["user"]
    assert user["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:ns",
        "system:authenticated",
    ]
    assert user["uid"] == (await api.ok("GET", ACCOUNT, **ROOT))["metadata"]["uid"]
    assert user["extra"] == {
        "authentication.kubernetes.io/credential-id": [f"JTI={payload(secret)['jti']}"]
    }


async def test_an_account_may_do_what_its_roles_say(api: Api) -> None:
    await api.ok("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "other"}}, **ROOT)
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    await api.ok("POST", f"{RBAC}/roles", {"metadata": {"name": "lister"}, "rules": rules}, **ROOT)
    subjects = [{"kind": "ServiceAccount", "name": "robot", "namespace": "ns"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lister"}
    await api.ok(
        "POST",
        f"{RBAC}/rolebindings",
        {"metadata": {"name": "b"}, "subjects": subjects, "roleRef": role},
        **ROOT,
    )
    others = (await issue(api, f"{NS}/serviceaccounts/other/token"))["status"]["token"]
    robots = await token(api)
    assert await status(api, robots, f"{NS}/configmaps") == 200
    assert await status(api, robots, f"{NS}/secrets") == 403
    assert await status(api, robots, "/api/v1/namespaces/else/configmaps") == 403
    assert await status(api, others, f"{NS}/configmaps") == 403
    assert await status(api, robots, f"{ACCOUNT}/token", "POST", {"spec": {}}) == 403


async def test_a_token_is_worth_nothing_in_another_tenant(api: Api) -> None:
    other = f"/clusters/acme{NS}/serviceaccounts"
    await api.ok("POST", other, {"metadata": {"name": "robot"}}, **ROOT)
    theirs = (await issue(api, f"{other}/robot/token"))["status"]["token"]
    ours = await token(api)
    assert (
        payload(theirs)["iss"]
        == "https://kubernetes.default.svc/clusters/acme"
        == payload(theirs)["aud"][0]
    )
    for _ in range(2):  # a token that is remembered is no better
        assert await status(api, ours, f"{NS}/configmaps") == 403
        assert await status(api, theirs, f"/clusters/acme{NS}/configmaps") == 403
        assert await status(api, ours, f"/clusters/acme{NS}/configmaps") == 401
        assert await status(api, theirs, f"/clusters/default{NS}/configmaps") == 401
    assert await status(api, ours, f"/clusters/nowhere{NS}/configmaps") == 401
    assert "authenticated" not in await review(api, theirs)
    stolen = (await issue(api, audiences=["https://kubernetes.default.svc/clusters/acme"]))[
        "status"
    ]["token"]
    assert await status(api, stolen, f"/clusters/acme{NS}/configmaps") == 401


async def test_a_token_without_a_prefix_means_its_own_tenant(api: Api) -> None:
    accounts = f"{NS}/serviceaccounts"
    await api.ok("POST", f"/clusters/acme{accounts}", {"metadata": {"name": "theirs"}}, **ROOT)
    rbac = f"/clusters/acme{RBAC}"
    rule = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["list"]}
    await api.ok("POST", f"{rbac}/roles", {"metadata": {"name": "r"}, "rules": [rule]}, **ROOT)
    binding = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "theirs", "namespace": "ns"}],
    }
    await api.ok("POST", f"{rbac}/rolebindings", binding, **ROOT)
    secret = (await issue(api, f"/clusters/acme{accounts}/theirs/token"))["status"]["token"]
    for _ in range(2):  # read, then remembered
        listed = await api.ok("GET", accounts, authorization=f"Bearer {secret}")
        assert [item["metadata"]["name"] for item in listed["items"]] == ["theirs"]
    await api.ok("DELETE", f"/clusters/acme{accounts}/theirs", **ROOT)
    assert await status(api, secret, accounts) == 401


async def test_audiences(api: Api) -> None:
    vault = await token(api, audiences=["vault", "other"])
    assert await status(api, vault, f"{NS}/configmaps") == 401
    assert (await review(api, vault, "vault", "third"))["audiences"] == ["vault"]
    assert await review(api, vault, "third") == {
        "user": {},
        "error": (
            '[invalid bearer token, token audiences ["vault" "other"] is invalid for the '
            'target audiences ["third"]]'
        ),
    }
    own = "https://kubernetes.default.svc"
    assert (await review(api, "root", own))["audiences"] == [own]
    assert await review(api, "root", "vault") == {"user": {}, "error": "invalid bearer token"}
    assert await review(api, "unknown") == {"user": {}, "error": "invalid bearer token"}


async def test_a_good_token_needs_no_query(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = await token(api)
    assert await status(api, secret) == 403

    async def asked(*_: Any, **__: Any) -> Any:
        raise AssertionError("the database was asked")

    for name in ("get", "list", "head"):
        monkeypatch.setattr(api.registry.store, name, asked)
    assert await status(api, secret) == 403


async def test_discovery_of_the_issuer(api: Api) -> None:
    for prefix, issuer in (
        ("", "https://kubernetes.default.svc"),
        ("/clusters/acme", "https://kubernetes.default.svc/clusters/acme"),
    ):
        found = await api.ok(
            "GET", f"{prefix}/.well-known/openid-configuration", host="api.example.com:6443", **ROOT
        )
        assert found == {
            "issuer": issuer,
            "jwks_uri": f"https://api.example.com:6443{prefix}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }
    (key,) = (await api.ok("GET", "/openid/v1/jwks", **ROOT))["keys"]
    (theirs,) = (await api.ok("GET", "/clusters/acme/openid/v1/jwks/", **ROOT))["keys"]
    head = orjson.loads(base64.urlsafe_b64decode((await token(api)).partition(".")[0] + "=="))
    assert head["kid"] == key["kid"] != theirs["kid"]
    odd = await api.ok("GET", "/.well-known/openid-configuration", host='x"/evil', **ROOT)
    assert odd["jwks_uri"] == "https://127.0.0.1:6443/openid/v1/jwks"
    assert (await api("GET", "/openid/v1/jwks"))[0] == 403
    assert (await api("POST", "/openid/v1/jwks", **ROOT))[0] == 405
    assert (await api("GET", "/openid/v1/jwks", accept="text/html", **ROOT))[0] == 406
    assert (await api("GET", "/openid/v1/other", **ROOT))[0] == 404
    assert {"/openid/v1/jwks", "/.well-known/openid-configuration"} <= set(
        (await api.ok("GET", "/", **ROOT))["paths"]
    )


def mutated(secret: str, chance: random.Random) -> str:
    """The token with some of its characters changed, or parts lost, doubled or replaced."""
    text = list(secret)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text))
        text[at : at + chance.choice((0, 1, 1, 40))] = chance.choice(
            ("", ".", "A", "\0", "\xff", "=", "€", '"', "eyJhbGciOiJub25lIn0.")
        )
    return "".join(text)


async def test_no_token_makes_an_error(api: Api) -> None:
    secret, chance = await token(api), random.Random(1)
    made = [mutated(secret, chance) for _ in range(100)]
    made += [
        "x" * 60_000,
        "." * 60_000,
        "x" * 100_000,
        f"{secret}." * 100,
        secret + "\0",
        "é.é.é",
        f"{secret[:-9]}é" * 2,
    ]
    for text in made:
        code = await status(api, text, f"{NS}/configmaps")
        if len(text) > MAX_HEAD:
            assert code == 431
            continue
        assert code in (401, 403) and (code == 401 or parse(text) == parse(secret)), text
        assert "authenticated" not in await review(api, text) or parse(text) == parse(secret), text
