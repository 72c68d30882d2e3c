"""Tokens of OpenID providers: what is forged is refused, whatever it looks like."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import RSAAlgorithm

from apiserver.authn.accountclaims import Refused
from apiserver.authn.jose import LONGEST
from apiserver.authn.oidc import OidcTokens, issuers
from apiserver.user import User
from tests.support.oidctokens import (
    CLAIMS,
    NEIGHBOUR,
    NOW,
    OTHER,
    TENANT,
    URL,
    Clock,
    World,
    ec_key,
    jwk,
    one,
    part,
    parts,
    rsa_key,
    token,
    tokens,
)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    yield World(jwk(rsa_key()), jwk(ec_key(), "e"))


PEM = (
    rsa_key()
    .public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
)


def hs256(header: Any, secret: bytes = PEM) -> str:
    signed = f"{part(header)}.{part(CLAIMS)}"
    return f"{signed}.{part(hmac.digest(secret, signed.encode(), 'sha256'))}"


def resigned(header: bytes, claims: bytes) -> str:
    """With the right key, whatever it says."""
    algorithm = RSAAlgorithm(RSAAlgorithm.SHA256)
    signed = f"{part(header)}.{part(claims)}"
    return f"{signed}.{part(algorithm.sign(signed.encode(), rsa_key()))}"


HEADER = b'{"alg":"RS256","kid":"k"}'
PAYLOAD = json.dumps(CLAIMS).encode()

ATTACKS: dict[str, Callable[[], str]] = {
    "no algorithm": lambda: f"{part({'alg': 'none', 'kid': 'k'})}.{part(CLAIMS)}.",
    "none with a signature": lambda: f"{part({'alg': 'none'})}.{part(CLAIMS)}.AAAA",
    "NONE": lambda: resigned(b'{"alg":"NONE","kid":"k"}', PAYLOAD),
    "public key as a secret": lambda: hs256({"alg": "HS256", "kid": "k"}),
    "the same said to be RSA": lambda: hs256({"alg": "RS256", "kid": "k"}),
    "empty secret": lambda: hs256({"alg": "HS256", "kid": "k"}, b""),
    "another key": lambda: token(key=rsa_key("another")),
    "a key that it brings": lambda: token(
        key=rsa_key("another"), jwk=jwk(rsa_key("another")), x5c=["AAAA"]
    ),
    "a key elsewhere": lambda: token(
        key=rsa_key("another"), jku="https://evil.example/keys", x5u="https://evil.example/"
    ),
    "unknown key id": lambda: token(kid="unknown"),
    "key id of another key": lambda: token(kid="e"),
    "key id as a path": lambda: token(kid="../../dev/null"),
    "key id as SQL": lambda: token(kid="' OR 1=1 --"),
    "no key id and another key": lambda: token(key=rsa_key("another"), kid=""),
    "algorithm of another family": lambda: token(key=ec_key(), algorithm="ES256"),
    "other hash than the header says": lambda: resigned(b'{"alg":"RS384","kid":"k"}', PAYLOAD),
    "PSS said, PKCS 1 made": lambda: resigned(b'{"alg":"PS256","kid":"k"}', PAYLOAD),
    "must be understood": lambda: resigned(b'{"alg":"RS256","kid":"k","crit":["exp"]}', PAYLOAD),
    "b64": lambda: resigned(b'{"alg":"RS256","kid":"k","b64":false,"crit":["b64"]}', PAYLOAD),
    "b64 without crit": lambda: resigned(b'{"alg":"RS256","kid":"k","b64":true}', PAYLOAD),
    "header says something twice": lambda: resigned(
        b'{"alg":"none","alg":"RS256","kid":"k"}', PAYLOAD
    ),
    "claims say something twice": lambda: resigned(HEADER, PAYLOAD[:-1] + b',"sub":"root"}'),
    "twice, below": lambda: resigned(HEADER, PAYLOAD[:-1] + b',"a":{"b":1,"b":2}}'),
    "algorithm is a list": lambda: resigned(b'{"alg":["RS256"],"kid":"k"}', PAYLOAD),
    "key id is a number": lambda: resigned(b'{"alg":"RS256","kid":7}', PAYLOAD),
    "other claims": lambda: ".".join(
        [parts(token())[0], part({**CLAIMS, "sub": "root"}), parts(token())[2]]
    ),
    "other header": lambda: ".".join([part({"alg": "RS256"}), *parts(token())[1:]]),
    "no signature": lambda: ".".join([*parts(token())[:2], ""]),
    "half a signature": lambda: token()[:-100],
    "four parts": lambda: token() + ".AAAA",
    "padding": lambda: token() + "==",
    "line break": lambda: token() + "\n",
    "JSON serialization": lambda: json.dumps(
        dict(zip(("protected", "payload", "signature"), parts(token()), strict=True))
    ),
    "huge": lambda: token({"x": "y" * LONGEST}),
    "a huge header": lambda: token(x="y" * 12 * 1024),
    "deep": lambda: resigned(HEADER, b'{"a":' * 20_000 + b"1" + b"}" * 20_000),
    "issuer with a slash": lambda: token({"iss": URL + "/"}),
    "issuer in capitals": lambda: token({"iss": URL.upper()}),
    "issuers": lambda: resigned(HEADER, json.dumps({**CLAIMS, "iss": [URL]}).encode()),
    "another audience": lambda: token({"aud": "you"}),
    "audience of which ours is a part": lambda: token({"aud": "me2"}),
    "no audience": lambda: token({"aud": []}),
    "audience is an object": lambda: token({"aud": {"me": 1}}),
    "audiences of numbers": lambda: token({"aud": ["me", 1]}),
    "over": lambda: token({"exp": NOW - 1}),
    "no end": lambda: resigned(HEADER, json.dumps({**CLAIMS, "exp": None}).encode()),
    "end is a text that has passed": lambda: token({"exp": str(NOW - 1)}),
    "end is another text": lambda: token({"exp": "1e"}),
    "end beyond numbers": lambda: token({"exp": 10**30}),
    "issued at a word": lambda: token({"iat": "x"}),
    "issued at nothing": lambda: token({"iat": None}),
    "name is no text": lambda: token({"sub": ["alice"]}),
    "nonce is no text": lambda: token({"nonce": 1}),
    "hash is no text": lambda: token({"at_hash": {}}),
    "claims of nobody": lambda: token({"_claim_names": {"x": "s"}}),
    "end is true": lambda: token({"exp": True}),
    "too early": lambda: token({"nbf": NOW + 61}),
    "begins with a text": lambda: resigned(HEADER, json.dumps({**CLAIMS, "nbf": "soon"}).encode()),
    "nobody": lambda: token({"sub": ""}),
    "no name": lambda: resigned(
        HEADER, json.dumps({k: v for k, v in CLAIMS.items() if k != "sub"}).encode()
    ),
    "name is an object": lambda: resigned(HEADER, json.dumps({**CLAIMS, "sub": {"a": 1}}).encode()),
    "groups are numbers": lambda: token({"groups": [1]}),
    "groups elsewhere": lambda: token({"_claim_names": {"groups": "s"}, "_claim_sources": {}}),
}


async def whose(held: OidcTokens, text: str, tenant: int = TENANT) -> User | None:
    """None for a refusal of any kind."""
    try:
        return await held.user(tenant, text)
    except Refused:
        return None


@pytest.mark.parametrize("attack", ATTACKS)
async def test_what_is_forged_is_refused(world: World, attack: str) -> None:
    held = tokens(world)
    assert await whose(held, token()) is not None
    assert await whose(held, ATTACKS[attack]()) is None


@pytest.mark.parametrize(
    ("made", "groups"),
    [
        (lambda: token(), ()),
        (lambda: token(kid=""), ()),
        (lambda: token(algorithm="PS256"), ()),
        (lambda: token(key=ec_key(), algorithm="ES256", kid="e"), ()),
        (lambda: token({"aud": ["you", "me"], "groups": "dev"}), ("g:dev",)),
        (lambda: token({"groups": ["a", "b"], "nbf": NOW + 59}), ("g:a", "g:b")),
        (lambda: token({"exp": NOW + 0.5, "iat": NOW + 999}), ()),
        (lambda: token({"exp": str(NOW + 60), "nbf": "1e3", "nonce": None}), ()),
    ],
)
async def test_what_is_good(world: World, made: Callable[[], str], groups: tuple[str, ...]) -> None:
    found = await tokens(world).user(TENANT, made())
    assert found == User("p:alice", groups=(*groups, "system:authenticated"), everywhere=True)


@pytest.mark.parametrize(
    "published",
    [
        jwk(rsa_key("short", 1024)),
        jwk(rsa_key(), use="enc"),
        jwk(rsa_key(), alg="RS512"),
        jwk(rsa_key(), alg="HS256"),
        jwk(rsa_key(), alg="none"),
        {"kty": "oct", "kid": "k", "k": part(PEM)},
        {**jwk(rsa_key()), "kty": "EC"},
        {**jwk(rsa_key()), "n": "AAAA"},
        {**jwk(rsa_key()), "e": "AQ"},
        {**jwk(rsa_key()), "kid": 7},
        {**jwk(rsa_key()), "d": "AAAA"},
        jwk(ec_key("k1", ec.SECP256K1)),
        "k",
        None,
    ],
)
async def test_keys_that_sign_nothing(published: Any) -> None:
    world = World(published)
    key = rsa_key("short", 1024) if published == jwk(rsa_key("short", 1024)) else rsa_key()
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning) if key.key_size < 2048 else _quiet():
        text = token(key=key)
    assert await whose(tokens(world), text) is None


def _quiet() -> Any:
    from contextlib import nullcontext

    return nullcontext()


async def test_one_tenants_issuer_is_no_other_tenants() -> None:
    world = World(jwk(rsa_key()))
    world.discovery = {"issuer": OTHER, "jwks_uri": f"{OTHER}/keys"}
    own = issuers([one(url=OTHER)], world.fetch, everywhere=False)
    held = tokens(World(jwk(rsa_key("installation"))), {TENANT: own})
    text = token({"iss": OTHER})
    found = await held.user(TENANT, text)
    assert found is not None and not found.everywhere
    for _ in range(2):
        assert await held.user(NEIGHBOUR, text) is None
    asked = len(world.asked)
    assert await held.user(NEIGHBOUR, token({"iss": OTHER}, kid="unknown")) is None
    assert len(world.asked) == asked, "a neighbour's tokens ask nobody"


async def test_what_a_tenant_says_of_an_issuer_comes_first() -> None:
    world = World(jwk(rsa_key()))
    own = issuers([one(audiences="[theirs]")], world.fetch, everywhere=False)
    held = tokens(world, {TENANT: own})
    assert await whose(held, token({"aud": "theirs"})) is not None
    assert await whose(held, token({"aud": "me"})) is None
    assert (await whose(held, token({"aud": "me"}), NEIGHBOUR)) is not None


async def test_what_is_remembered_ends_with_the_token(world: World) -> None:
    held = tokens(world)
    clock = held._clock
    assert isinstance(clock, Clock)
    text = token({"exp": NOW + 3})
    assert await whose(held, text) is not None
    world.keys = []
    clock.now += 2
    assert await whose(held, text) is not None
    clock.now += 2
    assert await whose(held, text) is None


async def test_a_clock_that_steps_back_makes_nothing_remembered_for_longer(world: World) -> None:
    own = {TENANT: issuers([one(url=OTHER)], world.fetch, everywhere=False)}
    world.discovery = {"issuer": OTHER, "jwks_uri": f"{OTHER}/keys"}
    held = tokens(world, own)
    clock = held._clock
    assert isinstance(clock, Clock)
    text = token({"iss": OTHER, "exp": NOW + 86_400})
    assert await whose(held, text) is not None
    del own[TENANT]
    assert await whose(held, text) is not None, "it is remembered"
    clock.now -= 3600
    assert await whose(held, text) is None


async def test_another_configuration_counts_at_once(world: World) -> None:
    held = tokens(world)
    assert await whose(held, token()) is not None
    held.install(issuers([], world.fetch, everywhere=True, before=held.installation))
    assert await held.user(TENANT, token()) is None
    held.install(issuers([one("  userValidationRules: [{expression: 'false'}]")], world.fetch,
                         everywhere=True))  # fmt: skip
    with pytest.raises(Refused, match="user info validation rule"):
        await held.user(TENANT, token())


ANY = st.one_of(
    st.text(),
    st.binary().map(lambda b: b.decode("latin-1")),
    st.binary().map(lambda b: b.decode("utf-8", "surrogateescape")),
    st.lists(st.binary(max_size=60).map(part), min_size=3, max_size=3).map(".".join),
    st.tuples(
        st.dictionaries(st.sampled_from(["alg", "kid", "crit", "typ"]), st.text() | st.integers()),
        st.dictionaries(
            st.sampled_from(list(CLAIMS)),
            st.text() | st.integers() | st.none() | st.lists(st.text()) | st.just(URL),
        ),
        st.binary(max_size=300),
    ).map(lambda parts: ".".join(map(part, parts))),
)


@given(ANY)
def test_whatever_comes_is_refused_and_raises_nothing_else(text: str) -> None:
    async def run() -> User | None:
        return await whose(tokens(World(jwk(rsa_key()))), text)

    assert asyncio.run(run()) is None
