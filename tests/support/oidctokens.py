"""Tokens of OpenID providers, and what providers publish, without a network."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from apiserver.authn import claimrules, configuration
from apiserver.authn.configuration import Jwt
from apiserver.authn.oidc import Issuers, OidcTokens, issuers
from apiserver.authn.providers import FetchError

URL, OTHER = "https://issuer.example.com", "https://other.example.com"
NOW = 1_800_000_000.0
TENANT, NEIGHBOUR = 1, 2


@cache
def rsa_key(which: str = "", bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


@cache
def ec_key(which: str = "", curve: type[ec.EllipticCurve] = ec.SECP256R1) -> Any:
    return ec.generate_private_key(curve())


def jwk(key: Any, kid: str = "k", **more: Any) -> dict[str, Any]:
    public = key.public_key()
    kind = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    found = {k: v for k, v in kind.to_jwk(public, as_dict=True).items() if k != "key_ops"}
    return {**found, "kid": kid, "use": "sig", **more}


class World:
    """What providers publish. asked: documents that were read; broken: whether none can be;
    documents: others at their URLs; shown: by which tokens those were asked for."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.keys: list[Any] = list(keys)
        self.asked: list[str] = []
        self.broken = False
        self.discovery: dict[str, Any] = {"issuer": URL, "jwks_uri": f"{URL}/keys"}
        self.documents: dict[str, bytes] = {}
        self.shown: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self, url: str, ca: str, token: str = "") -> bytes:
        self.asked.append(url)
        await self.gate.wait()
        if self.broken:
            raise FetchError("it is away")
        if url in self.documents:
            self.shown.append(token)
            return self.documents[url]
        keys = {"keys": self.keys}
        return json.dumps(keys if url.endswith("/keys") else self.discovery).encode()


class Clock:
    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def one(text: str = "", url: str = URL, audiences: str = "[me]") -> Jwt:
    document = f"""
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: {{url: {url}, audiences: {audiences}, audienceMatchPolicy: MatchAny}}
  claimMappings:
    username: {{claim: sub, prefix: "p:"}}
    groups: {{claim: groups, prefix: "g:"}}
{text}"""
    found = configuration.read(document.encode())
    claimrules.check(found)
    return found.jwt[0]


def tokens(world: World, own: Mapping[int, Issuers] | None = None) -> OidcTokens:
    held = own or {}

    async def of(tenant: int) -> Issuers:
        return held.get(tenant, Issuers())

    made = OidcTokens(of, Clock())
    made.install(issuers([one()], world.fetch, everywhere=True))
    return made


CLAIMS = {"iss": URL, "aud": "me", "sub": "alice", "exp": NOW + 60, "iat": NOW}


def token(claims: Any = None, key: Any = None, algorithm: str = "RS256", **headers: Any) -> str:
    headers = {"kid": "k", **headers}
    return jwt.encode({**CLAIMS, **(claims or {})}, key or rsa_key(), algorithm, headers)


def part(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def parts(text: str) -> list[str]:
    return text.split(".")
