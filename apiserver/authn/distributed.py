"""ClaimSources: the claim with a user's groups, where the token says that another server knows it
(OpenID Connect Core 1.0, section 5.6.2; k8s.io/apiserver ``plugin/pkg/authenticator/token/oidc``,
claimResolver).

Only a token that has been verified is read here, so the provider has chosen the server. What that
answers is a token, too, by whatever issuer: it is verified by that issuer's published keys, and for
the same audiences. A claim that the token itself has counts, and one that it carries as another
token (an aggregated claim) is not looked at, as upstream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from apiserver.authn import jose
from apiserver.authn.accountclaims import Refused
from apiserver.authn.jose import Unsigned
from apiserver.authn.providers import Fetch, FetchError, Provider, Unreachable
from apiserver.golang.strconv import go_quote
from apiserver.meta.newest import Newest

_NAMES, _SOURCES = "_claim_names", "_claim_sources"
_MOST = 8
"""Issuers whose keys are kept."""
_AT_ONCE = 16
"""Answers of servers that are waited for."""
Claims = Mapping[str, Any]


class ClaimSources:
    """Of one authenticator. provider: its own; claim: the one that may be elsewhere; check: all of
    a token but its signature, at a time, which raises Refused."""

    def __init__(
        self, claim: str, provider: Provider, fetch: Fetch, check: Callable[[Unsigned, float], None]
    ) -> None:
        self._claim, self._provider, self._fetch, self._check = claim, provider, fetch, check
        self._others = Newest[str, Provider](_MOST)
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def close(self) -> None:
        for provider in self._others.values():
            provider.close()

    async def expand(self, claims: Claims, now: float) -> Claims:
        """The claims with the one that was elsewhere. ``now``: seconds since 1970. Raises Refused,
        Unreachable."""
        try:
            source = _source(claims, self._claim)
            if source is None:
                return claims
            async with self._turns:
                return {**claims, self._claim: await self._resolve(*source, now)}
        except Refused as e:
            text = f"oidc: could not expand distributed claims: {e}"
            raise (Unreachable if e.doubtful else Refused)(text) from None

    async def _resolve(self, url: str, access: str, now: float) -> Any:
        claim = go_quote(self._claim)
        try:
            text = await self._fetch(url, self._provider.issuer.ca, access)
        except (FetchError, ValueError) as e:
            raise Unreachable(f"while getting distributed claim {claim}: {e}") from None
        token = jose.parse(text.decode("ascii", "replace"))
        issuer = token.claims.get("iss") if token is not None else None
        if token is None or not isinstance(issuer, str):
            why = f"getting untrusted issuer from endpoint {url} failed for claim {claim}"
            raise Refused(f"{why}: it answered no token")
        try:
            self._check(token, now)
            await self._of(issuer).verify(token)
        except Refused as e:
            why = f"verify distributed claim token: {e}"
            raise (Unreachable if e.doubtful else Refused)(why) from None
        if self._claim not in token.claims:
            where = f"jwt returned by distributed claim endpoint {go_quote(url)}"
            raise Refused(f"{where} did not contain claim: {self._claim}")
        return token.claims[self._claim]

    def _of(self, issuer: str) -> Provider:
        own = self._provider
        if issuer == own.issuer.url:
            return own
        provider = self._others.get(issuer)
        if provider is None:
            provider = Provider(replace(own.issuer, url=issuer, discovery_url=""), self._fetch)
        if (gone := self._others.keep(issuer, provider)) is not None:
            gone.close()
        return provider


def _source(claims: Claims, claim: str) -> tuple[str, str] | None:
    """The server's URL and the token for it; None where nobody has to be asked. ``claims``: those
    that `tokenclaims.check_registered` has looked at. Raises Refused."""
    if claim in claims or _NAMES not in claims:
        return None
    if _SOURCES not in claims:
        raise Refused("oidc: no claim sources")
    names = claims[_NAMES] or {}
    if claim not in names:
        return None
    source = claims[_SOURCES][names[claim]] or {}
    url, access = source.get("endpoint") or "", source.get("access_token") or ""
    if not _is_plain(url + access):
        raise Refused("oidc: could not parse claim sources: they are no addresses and tokens")
    return (url, access) if url else None


def _is_plain(text: str) -> bool:
    """Whether it may stand in a request's head."""
    return text.isascii() and text.isprintable() and " " not in text
