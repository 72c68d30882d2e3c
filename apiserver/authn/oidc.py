"""OidcTokens: whose the tokens of OpenID providers are, by the configuration of the installation
and by that of the tenant.

Sources: k8s.io/apiserver ``plugin/pkg/authenticator/token/oidc``, go-oidc's IDTokenVerifier. What
the installation trusts is good in all tenants, what a tenant trusts in that tenant alone, and its
word about an issuer comes first. What verifies is remembered for `REMEMBERED` seconds, as
kube-apiserver does, and not beyond the token's end.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from apiserver.authn import counts, jose, tokenclaims
from apiserver.authn.accountclaims import Refused
from apiserver.authn.claimrules import ClaimRules
from apiserver.authn.configuration import Jwt
from apiserver.authn.distributed import ClaimSources
from apiserver.authn.jose import Unsigned
from apiserver.authn.providers import Fetch, Provider
from apiserver.authn.tokenclaims import UnmarshalError
from apiserver.golang.strconv import go_quote
from apiserver.meta.newest import Newest
from apiserver.user import User

REMEMBERED = 10.0
_MOST = 4096  # tokens
_LEEWAY = 60
"""Seconds by which a token may be too early, as go-oidc has it."""
_GOOGLE = {"accounts.google.com": "https://accounts.google.com"}


class Authenticator:
    """One of the list. everywhere: its users are the installation's."""

    def __init__(self, jwt: Jwt, provider: Provider, fetch: Fetch, everywhere: bool) -> None:
        self.jwt, self.provider = jwt, provider
        claim = jwt.groups.claim
        self._sources = ClaimSources(claim, provider, fetch, self._check) if claim else None
        self._rules = ClaimRules(jwt, everywhere)
        self._hash = counts.issuer_hash(jwt.issuer.url)
        self._beside = self._rules.expressions > 0
        """Whether there are expressions: they are evaluated in a thread."""

    async def user(self, token: Unsigned, now: float) -> User:
        """``now``: seconds since 1970. Raises Refused, Unreachable."""
        began, result = time.perf_counter(), "failure"
        try:
            self._check(token, now)
            await self.provider.verify(token)
            claims: Mapping[str, Any] = token.claims
            if self._sources is not None:
                claims = await self._sources.expand(claims, now)
            if self._beside:
                user = await asyncio.to_thread(self._rules.user, claims)
            else:
                user = self._rules.user(claims)
            result = "success"
            return user
        finally:
            counts.took(result, self._hash, time.perf_counter() - began)

    def close(self) -> None:
        """But for the provider, with which others may go on."""
        if self._sources is not None:
            self._sources.close()

    def _check(self, token: Unsigned, now: float) -> None:
        """All but the signature. Raises Refused."""
        try:
            tokenclaims.check_registered(token.claims)
            audiences = tokenclaims.audiences(token.claims.get("aud", []))
            expires, begins = _times(token.claims)
        except UnmarshalError as e:
            raise _unverified(str(e)) from None
        accepted = self.jwt.issuer.audiences
        if not set(audiences) & set(accepted):
            if len(accepted) == 1:
                text = f"expected audience {go_quote(accepted[0])} got {_quoted(audiences)}"
                raise _unverified(text)
            raise Refused(
                f"oidc: verify token: oidc: expected audience in {_quoted(sorted(accepted))} got "
                f"{_quoted(audiences)}"
            )
        if now > expires:
            raise _unverified(f"token is expired (Token Expiry: {_moment(expires)})")
        if now + _LEEWAY < begins:
            why = f"before the nbf (not before) time: {_moment(begins)}"
            raise _unverified(f"current time {_moment(now)} {why}")
        algorithm = token.header.get("alg")
        if algorithm not in jose.ALGORITHMS:
            got = go_quote(str(algorithm or "")[:40])
            text = f"expected {_quoted(sorted(jose.ALGORITHMS))} got {got}"
            raise _unverified(f"id token signed with unsupported algorithm, {text}")


class Issuers:
    """The authenticators of one configuration, by their issuers' URLs."""

    def __init__(self, authenticators: Iterable[Authenticator] = ()) -> None:
        self.by_url = {a.jwt.issuer.url: a for a in authenticators}

    def close(self, kept: Iterable[Provider] = ()) -> None:
        """``kept``: providers that others go on with."""
        still = set(map(id, kept))
        for authenticator in self.by_url.values():
            authenticator.close()
            if id(authenticator.provider) not in still:
                authenticator.provider.close()


def issuers(
    jwts: Sequence[Jwt], fetch: Fetch, *, everywhere: bool, before: Issuers | None = None
) -> Issuers:
    """``before``: what was configured until now; its providers are taken over where they are the
    same, with what they know."""
    held = before.by_url if before is not None else {}
    authenticators = []
    for jwt in jwts:
        old = held.get(jwt.issuer.url)
        same = old is not None and old.jwt.issuer == jwt.issuer
        provider = old.provider if old is not None and same else Provider(jwt.issuer, fetch)
        authenticators.append(Authenticator(jwt, provider, fetch, everywhere))
    if before is not None:
        before.close([a.provider for a in authenticators])
    return Issuers(authenticators)


class _Remembered(NamedTuple):
    """since: no longer than from then, whatever becomes of the clock."""

    user: User
    since: float
    until: float


Own = Callable[[int], Awaitable[Issuers]]
"""What a tenant itself trusts, by its number."""


class OidcTokens:
    """clock: seconds since 1970."""

    def __init__(self, own: Own, clock: Callable[[], float] = time.time) -> None:
        self._installation, self._own, self._clock = Issuers(), own, clock
        self._users = Newest[tuple[int, bytes], _Remembered](_MOST)

    @property
    def installation(self) -> Issuers:
        return self._installation

    def install(self, issuers: Issuers) -> None:
        """What the installation trusts from now on."""
        self._installation = issuers
        self._users.clear()

    async def user(self, tenant: int, token: str) -> User | None:
        """None for what is no token of an issuer that counts in the tenant. Raises Refused,
        Unreachable."""
        if token.count(".") != 2 or len(token) > jose.LONGEST:
            return None
        place = tenant, hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        remembered, now = self._users.get(place), self._clock()
        if remembered is not None and remembered.since <= now < remembered.until:
            self._users.move_to_end(place)
            return remembered.user
        unsigned = jose.parse(token)
        if unsigned is None:
            return None
        authenticator = await self._by_issuer(tenant, unsigned.claims.get("iss"))
        if authenticator is None:
            return None
        user = await authenticator.user(unsigned, now)
        until = min(now + REMEMBERED, float(tokenclaims.seconds(unsigned.claims["exp"], "exp")))
        self._users.keep(place, _Remembered(user, now, until))
        return user

    async def _by_issuer(self, tenant: int, issuer: Any) -> Authenticator | None:
        if not isinstance(issuer, str):
            return None
        url = _GOOGLE.get(issuer, issuer)
        own: Mapping[str, Authenticator] = (await self._own(tenant)).by_url
        return own.get(url) or self._installation.by_url.get(url)


def _times(claims: Mapping[str, Any]) -> tuple[float, float]:
    """When the token ends and when it begins. Raises UnmarshalError."""
    begins = claims.get("nbf")
    return (
        tokenclaims.seconds(claims["exp"], "exp") if "exp" in claims else float("-inf"),
        tokenclaims.seconds(begins, "nbf") if begins is not None else float("-inf"),
    )


def _moment(seconds: float) -> str:
    """A time.Time as Go prints it, of which the year has four digits; the first one for others."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime.min.replace(tzinfo=UTC)
    return f"{moment.replace(tzinfo=None).isoformat(' ', 'seconds')} +0000 UTC"


def _quoted(texts: Iterable[str]) -> str:
    return "[" + " ".join(go_quote(text[:200]) for text in list(texts)[:20]) + "]"


def _unverified(why: str) -> Refused:
    return Refused(f"oidc: verify token: oidc: {why}")
