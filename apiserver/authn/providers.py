"""Provider: the public keys of one OpenID provider, found by discovery and kept.

Tokens are verified by what is at hand. A token whose key is not among it is a reason to ask the
provider again, but not more often than every `SOONEST` seconds, one question at a time, and while
`WAITING` requests wait for its answer others are refused at once: whoever makes up key ids floods
neither the provider nor this process. Keys that are in use are
fetched anew every `RENEWED` seconds, beside a request; where nobody came for so long that they are
older than `FRESH`, the first requests wait for the answer, so that nothing is verified by a key
that was withdrawn before. While the provider cannot be asked, what is known goes on being good, and
nobody but the first waits for it.

Sources: go-oidc's RemoteKeySet and NewProvider; RFC 7517.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import orjson
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt import PyJWTError
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from apiserver.authn import counts, jose
from apiserver.authn.accountclaims import Refused
from apiserver.authn.configuration import Issuer
from apiserver.authn.jose import PublicKey, Unsigned
from apiserver.golang.strconv import go_quote

log = logging.getLogger("polyplane.authn")

SOONEST = 5.0
"""Seconds from one question to the next."""
RENEWED, FRESH = 300.0, 600.0
"""Seconds after which keys are fetched anew, and after which they count no more without that."""
REDISCOVERED = 3600.0
"""Seconds after which the document that says where they are is fetched anew with them."""
PATIENCE = 12.0
"""Seconds that a request waits for an answer."""
WAITING = 64
MOST_KEYS = 64
MOST_TRIED = 8
"""Keys that fit one token: a key of RSA may take ten milliseconds, for any signature."""
_SMALLEST, _LARGEST = 2048, 8192  # bits of a key of RSA
_LARGEST_EXPONENT = 2**31
"""Of keys of RSA: what is larger takes too long to verify."""
_READERS = {"RSA": RSAAlgorithm, "EC": ECAlgorithm}
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}


class Unreachable(Refused):
    """Nobody can say at present whose a token is: who should know does not answer."""

    doubtful = True


class FetchError(Exception):
    """A document could not be read; the text says why."""


class Fetch(Protocol):
    """The body of a document at an https URL, verified by certificates in PEM ("" for the
    system's). token: whoever asks is known by, "" for nothing. Bounded in size and time. Raises
    FetchError."""

    def __call__(self, url: str, ca: str, token: str = "") -> Awaitable[bytes]: ...


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """algorithm: the one that it is meant for, "" for any that fits."""

    kid: str
    key: PublicKey
    algorithm: str

    def fits(self, kid: str, algorithm: str) -> bool:
        if (kid and kid != self.kid) or self.algorithm not in ("", algorithm):
            return False
        if isinstance(self.key, rsa.RSAPublicKey):
            return algorithm[:2] in ("RS", "PS")
        return _CURVES.get(algorithm) == self.key.curve.name


class Provider:
    """clock: monotonic seconds."""

    def __init__(
        self, issuer: Issuer, fetch: Fetch, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.issuer, self._fetch, self._clock = issuer, fetch, clock
        self._keys: Sequence[PublishedKey] | None = None
        self._address = ""
        self._asked = self._fetched = self._discovered = float("-inf")
        self._asking: asyncio.Task[None] | None = None
        self._waiting = 0
        self.problem = f"oidc: authenticator for issuer {go_quote(issuer.url)} is not initialized"
        """Why tokens cannot be verified, or may soon not be; "" where all is well."""

    @property
    def ready(self) -> bool:
        return self._keys is not None

    def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    async def verify(self, token: Unsigned) -> None:
        """Raises Refused, Unreachable."""
        await self._renew()
        if await self._verifies(token):
            return
        asked = await self.refresh()
        if self._keys is None:
            raise Unreachable("oidc: authenticator not initialized")
        if not asked or not await self._verifies(token):
            why = "failed to verify signature: failed to verify id token signature"
            raise Refused(f"oidc: verify token: {why}")

    async def _renew(self) -> None:
        age = self._clock() - self._fetched
        if self._keys is None or age <= RENEWED:
            return
        if age > FRESH and not self.problem:
            await self.refresh()
        else:
            self._ask()

    async def refresh(self) -> bool:
        """Whether the provider has just been asked."""
        asking = self._ask()
        if asking is None or self._waiting >= WAITING:
            return False
        self._waiting += 1
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(asking)  # others wait for it, too
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    async def _verifies(self, token: Unsigned) -> bool:
        kid, algorithm = token.header.get("kid", ""), token.header.get("alg")
        if not isinstance(algorithm, str):
            return False
        fitting = (key.key for key in self._keys or () if key.fits(kid, algorithm))
        for key in islice(fitting, MOST_TRIED):
            if jose.verifies(token, key, algorithm):
                return True
            await asyncio.sleep(0)  # others may go on
        return False

    def _ask(self) -> asyncio.Task[None] | None:
        """The question that is under way; None where it is too early for another."""
        if self._asking is not None and not self._asking.done():
            return self._asking
        if self._clock() - self._asked < SOONEST:
            return None
        self._asked = self._clock()
        self._asking = asyncio.create_task(self._load())
        return self._asking

    async def _load(self) -> None:
        try:
            if self._clock() - self._discovered > REDISCOVERED:
                self._address = await self._discover()
                self._discovered = self._clock()
            self._keys = _key_set(await self._fetch(self._address, self.issuer.ca))
        except (FetchError, ValueError) as e:
            self._discovered = float("-inf")
            self.problem = f"oidc: {e}"
            counts.fetched("failure", self.issuer.url)
            log.warning("keys of issuer %s: %s", ascii(self.issuer.url), ascii(str(e))[:500])
        else:
            self.problem, self._fetched = "", self._clock()
            counts.fetched("success", self.issuer.url)

    async def _discover(self) -> str:
        """The address of the key set. Raises FetchError, ValueError."""
        return endpoint(await discover(self.issuer, self._fetch), "jwks_uri", "JWKS URL")


async def discover(issuer: Issuer, fetch: Fetch) -> dict[str, Any]:
    """What the provider says of itself. Raises FetchError, ValueError."""
    document = _object(await fetch(issuer.discovery, issuer.ca))
    if (said := document.get("issuer")) != issuer.url:
        expected = f"expected {go_quote(issuer.url)} got {go_quote(str(said)[:200])}"
        raise ValueError(f"issuer did not match the issuer returned by provider, {expected}")
    return document


def endpoint(document: Mapping[str, Any], member: str, called: str) -> str:
    """An address in what `discover` has read. called: the member, as messages have it. Raises
    ValueError."""
    address = document.get(member)
    if not isinstance(address, str) or not address:
        raise ValueError(f"provider did not return {called}")
    if not address.startswith("https://"):
        raise ValueError(f"the provider's {called} is no https URL")
    return address


def _object(data: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as e:
        raise ValueError(f"the provider's document is no JSON: {e}") from None
    if not isinstance(document, dict):
        raise ValueError("the provider's document is no JSON object")
    return document


def _key_set(data: bytes) -> Sequence[PublishedKey]:
    """Those that can sign tokens; others are for somebody else. Raises ValueError."""
    listed = _object(data).get("keys")
    if not isinstance(listed, list):
        raise ValueError("the key set has no keys")
    keys = [key for jwk in listed[:MOST_KEYS] if (key := _published(jwk)) is not None]
    if not keys:
        raise ValueError("the key set has no key that could verify a token")
    return keys


def _published(jwk: Any) -> PublishedKey | None:
    if not isinstance(jwk, dict) or jwk.get("use", "sig") != "sig" or "d" in jwk:
        return None
    kid, algorithm = jwk.get("kid", ""), jwk.get("alg", "")
    if not isinstance(kid, str) or algorithm not in ("", *jose.ALGORITHMS):
        return None
    kind = jwk.get("kty")
    reader: Any = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        return None
    try:
        key = reader.from_jwk(jwk)
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    return PublishedKey(kid, key, algorithm) if _is_good(key) else None


def _is_good(key: Any) -> bool:
    if isinstance(key, rsa.RSAPublicKey):
        exponent = key.public_numbers().e
        return _SMALLEST <= key.key_size <= _LARGEST and 2 < exponent < _LARGEST_EXPONENT
    return isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES.values()
