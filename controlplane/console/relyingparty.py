"""What the console asks of its OpenID provider, and believes of its answers: the authorization code
flow with PKCE.

An ID token is judged by what judges those of the API (`apiserver.authn.oidc`); what only a login
has, its nonce and for whom it was made (``azp``), is looked at here. Addresses, time and size are
bounded as for all documents of providers (`controlplane.authentication.Documents`).

Sources: OpenID Connect Core 3.1, RFC 7636 (PKCE), RFC 9207 (``iss``), RFC 6749 2.3.1, RFC 9700;
RP-Initiated Logout 1.0, 2.1 (``end_session_endpoint``).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

from apiserver.authn import jose
from apiserver.authn.accountclaims import Refused
from apiserver.authn.configuration import Issuer, Jwt, Mapped
from apiserver.authn.oidc import Issuers, OidcTokens, issuers
from apiserver.authn.providers import FetchError, Unreachable, discover, endpoint
from controlplane.authentication import Documents
from controlplane.console.oidcsettings import OidcSettings
from controlplane.webhooks import address_policy

log = logging.getLogger("polyplane.console")

REMEMBERED = 600.0
"""Seconds for which what a provider says of itself is good."""
SECONDS = 25.0
"""What all questions of one login may take together."""
_TENANT = 0  # that of the installation
Found = TypeVar("Found")
_LONGEST_SUBJECT = 255  # OpenID Connect Core 2


class Challenge(NamedTuple):
    """What one login is known by. redirect: the address at which the answer is expected."""

    state: str
    nonce: str
    verifier: str
    redirect: str


@dataclass(frozen=True, slots=True)
class Person:
    """Whom the provider has seen. subject: never another's; name: as others see it; token: the ID
    token that says so; end_session: where they log out at the provider, "" for nowhere."""

    issuer: str
    subject: str
    name: str
    groups: frozenset[str]
    token: str = field(default="", repr=False)
    end_session: str = ""


class ProviderFailed(Exception):
    """It cannot be asked, or answers what no provider answers. The text is for operators."""


def challenge(redirect: str) -> Challenge:
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return Challenge(state, nonce, verifier, redirect)


class RelyingParty:
    """One per login. Used on one event loop."""

    _known: ClassVar[Mapping[str, tuple[float, bytes]]] = {}
    """The last discovery document of this process, by its address."""

    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings
        self._issuer = Issuer(settings.issuer, "", settings.ca, (settings.client_id,))
        self._documents = Documents(address_policy())

    async def address(self, asked: Challenge) -> str:
        """Where the person logs in. Raises ProviderFailed."""
        document = await self._within(self._discover())
        where = _endpoint(document, "authorization_endpoint")
        proof = hashlib.sha256(asked.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": asked.redirect,
            "scope": self._settings.scopes,
            "state": asked.state,
            "nonce": asked.nonce,
            "code_challenge": base64.urlsafe_b64encode(proof).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{where}{'&' if '?' in where else '?'}{urlencode(query)}"

    async def person(self, asked: Challenge, code: str, issuer: str | None) -> Person:
        """``issuer``: who the answer says it is from. Raises Refused, ProviderFailed."""
        return await self._within(self._person(asked, code, issuer))

    async def _person(self, asked: Challenge, code: str, issuer: str | None) -> Person:
        document = await self._discover()
        says = document.get("authorization_response_iss_parameter_supported") is True
        if issuer != self._settings.issuer and (issuer is not None or says):
            raise Refused("the answer is not from the issuer that was asked")
        token = await self._exchange(document, asked, code)
        tokens = OidcTokens(_nobodys)
        tokens.install(issuers([self._rules()], self._fetch, everywhere=False))
        try:
            user = await tokens.user(_TENANT, token)
        except Unreachable as error:
            trusted = tokens.installation.by_url.values()
            why = "".join(authenticator.provider.problem for authenticator in trusted)
            raise ProviderFailed(why or str(error)) from None
        finally:
            tokens.installation.close()
        unsigned = jose.parse(token)
        if user is None or unsigned is None:
            raise Refused("the ID token is none, or another issuer's")
        self._check(unsigned.claims, asked.nonce)
        return Person(
            self._settings.issuer,
            user.uid,
            user.name,
            frozenset(user.groups),
            token,
            _end_session(document),
        )

    def _rules(self) -> Jwt:
        names, groups = self._settings.username_claim, self._settings.groups_claim
        return Jwt(
            self._issuer,
            username=Mapped(names, ""),
            groups=Mapped(groups, ""),
            uid=Mapped("sub"),
        )

    def _check(self, claims: Mapping[str, Any], nonce: str) -> None:
        """Raises Refused."""
        said, subject, party = claims.get("nonce"), claims.get("sub"), claims.get("azp")
        if not isinstance(said, str) or not hmac.compare_digest(said.encode(), nonce.encode()):
            raise Refused("the ID token's nonce is not that of this login")
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT:
            raise Refused("the ID token has no subject")
        audiences = claims.get("aud")
        several = isinstance(audiences, list) and len(audiences) > 1
        if party != self._settings.client_id and (party is not None or several):
            raise Refused("the ID token was made for another client (azp)")

    async def _exchange(self, document: Mapping[str, Any], asked: Challenge, code: str) -> str:
        """The ID token that the code is good for. Raises Refused, ProviderFailed."""
        settings = self._settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": asked.redirect,
            "code_verifier": asked.verifier,
        }
        headers = [("Content-Type", "application/x-www-form-urlencoded")]
        methods = document.get("token_endpoint_auth_methods_supported")
        basic = not isinstance(methods, list) or "client_secret_basic" in methods
        if settings.client_secret and basic:
            pair = f"{quote_plus(settings.client_id)}:{quote_plus(settings.client_secret)}"
            headers += [("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")]
        else:
            form["client_id"] = settings.client_id
            if settings.client_secret:
                form["client_secret"] = settings.client_secret
        where = _endpoint(document, "token_endpoint")
        try:
            answer = await self._documents.post(
                where, settings.ca, headers, urlencode(form).encode()
            )
        except FetchError as error:
            raise ProviderFailed(str(error)) from None
        return _id_token(answer.status, answer.body)

    async def _discover(self) -> dict[str, Any]:
        """Raises ProviderFailed."""
        try:
            found = await discover(self._issuer, self._fetch)
        except (FetchError, ValueError) as error:
            raise ProviderFailed(str(error)) from None
        return found

    async def _fetch(self, url: str, ca: str, token: str = "") -> bytes:
        """The contract is `apiserver.authn.providers.Fetch`."""
        known = RelyingParty._known.get(url)
        if known is not None and time.monotonic() - known[0] < REMEMBERED:
            return known[1]
        body = await self._documents.fetch(url, ca, token)
        if url == self._issuer.discovery:
            RelyingParty._known = {url: (time.monotonic(), body)}
        return body

    async def _within(self, work: Coroutine[Any, Any, Found]) -> Found:
        """What was known of a provider that fails is forgotten: it may have moved."""
        try:
            async with asyncio.timeout(SECONDS):
                return await work
        except (ProviderFailed, TimeoutError) as error:
            RelyingParty._known = {}
            late = f"it has not answered within {SECONDS:.0f} seconds"
            raise ProviderFailed(late if isinstance(error, TimeoutError) else str(error)) from None
        finally:
            self._documents.close()


async def _nobodys(tenant: int) -> Issuers:
    return Issuers()


def _endpoint(document: Mapping[str, Any], member: str) -> str:
    """Raises ProviderFailed."""
    try:
        return endpoint(document, member, member)
    except ValueError as error:
        raise ProviderFailed(str(error)) from None


def _end_session(document: Mapping[str, Any]) -> str:
    """ "" where the provider has none, or one that no browser should be sent to: that keeps nobody
    from logging in."""
    if "end_session_endpoint" not in document:
        return ""
    try:
        where = endpoint(document, "end_session_endpoint", "end_session_endpoint")
        if not urlsplit(where).hostname or "#" in where:
            raise ValueError("the provider's end_session_endpoint has no host, or a fragment")
    except ValueError as error:
        log.warning("logging out of the console does not end the provider's session: %s", error)
        return ""
    return where


def _id_token(status: int, body: bytes) -> str:
    """Raises Refused, ProviderFailed."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise ProviderFailed(f"the token endpoint answered {status} and no JSON") from None
    if not isinstance(found, dict):
        raise ProviderFailed(f"the token endpoint answered {status} and no JSON object")
    if status != 200:
        why = ascii(str(found.get("error", "")))[:100]
        if status >= 500 or found.get("error") == "invalid_client":
            raise ProviderFailed(f"the token endpoint answered {status}: {why}")
        raise Refused(f"the token endpoint answered {status}: {why}")
    token = found.get("id_token")
    if not isinstance(token, str) or not token:
        raise ProviderFailed("the token endpoint gave no id_token")
    return token
