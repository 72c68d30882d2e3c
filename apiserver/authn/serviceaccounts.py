"""AccountTokens: issues the tokens of service accounts and says whose a token is.

A token is good in exactly one tenant: its issuer names the tenant, and it is signed by one of that
tenant's own keys. What verifies once is remembered by the token's hash; whether the account and
what the token is bound to are still there is looked up every time, in caches that follow the
database.
Source: kubernetes ``pkg/serviceaccount/{jwt,claims}.go``.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

from apiserver.authn import accountclaims as tokens
from apiserver.authn import counts, legacytokens
from apiserver.authn.accountclaims import Claims, Missing, Ref, Refused
from apiserver.authn.accountkeys import FOREVER, AccountKeys, Generation, KeyStore
from apiserver.authn.jose import Unsigned, parse
from apiserver.authn.legacytokens import LegacyClaims
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupResource
from apiserver.meta.newest import Newest
from apiserver.meta.objects import Object
from apiserver.request import DEFAULT_TENANT
from apiserver.user import User

ISSUER = "https://kubernetes.default.svc"
_REMEMBERED = 4096  # tokens
_GONE = 2.0
"""Seconds for which a token whose account is not in the database is refused without asking
again."""
_ACCOUNTS, _SECRETS = GroupResource("", "serviceaccounts"), GroupResource("", "secrets")
RESOURCES = {kind: GroupResource("", f"{kind}s") for kind in tokens.BOUND}


class Reader(Protocol):
    """Objects of one tenant: from a cache, or with ``fresh`` from the database."""

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None: ...


class Authenticated(NamedTuple):
    """audiences: those of the token that were asked for; warning: for who sends it, or ""; notes:
    annotations of the audit entry."""

    user: User
    audiences: tuple[str, ...]
    warning: str = ""
    notes: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class Recognized:
    """A token whose signature is right. under: the generations of keys for which that was found;
    gone_until: until when (of the clock) it is known to stand on nothing."""

    claims: Claims | LegacyClaims
    under: Sequence[Generation]
    gone_until: float = 0.0


Used = Callable[[str, str], None]
"""Hears that the token in a secret was used, by namespace and name; at most a few times a day where
it does something about it."""


def _nothing(namespace: str, secret: str) -> None:
    pass


class AccountTokens:
    """``secret``: of the installation, from which the tenants' keys come; ``issuer``: URL of the
    default tenant's issuer, below which those of the others are; ``clock``: monotonic seconds."""

    def __init__(
        self,
        secret: bytes,
        issuer: str = ISSUER,
        clock: Callable[[], float] = time.monotonic,
        store: KeyStore | None = None,
    ) -> None:
        self._issuer, self._clock = issuer, clock
        self._recognized = Newest[tuple[int, bytes], Recognized](_REMEMBERED)
        self._tenants = Newest[bytes, str](_REMEMBERED)
        self.keys = AccountKeys(secret, store)

    @classmethod
    def random(cls) -> AccountTokens:
        """With a secret that nobody has: for servers that need not understand each other's
        tokens."""
        return cls(secrets.token_bytes(32))

    def issuer(self, tenant: str) -> str:
        """The issuer of a tenant's tokens, by the tenant's name; at the same time the one audience
        of its API."""
        return self._issuer if tenant == DEFAULT_TENANT else f"{self._issuer}/clusters/{tenant}"

    def claimed_tenant(self, token: str) -> str:
        """The name of the tenant whose issuer's the token says to be, which proves nothing; "" for
        what is no token of ours."""
        if token.count(".") != 2:
            return ""
        if (name := self._tenants.get(_digest(token))) is not None:
            return name
        unsigned = parse(token)
        issuer = unsigned.claims.get("iss") if unsigned is not None else None
        if issuer == self._issuer:
            return DEFAULT_TENANT
        if unsigned is not None and issuer == legacytokens.ISSUER:
            return legacytokens.claimed_tenant(unsigned.claims)
        prefix = f"{self._issuer}/clusters/"
        return (
            issuer[len(prefix) :] if isinstance(issuer, str) and issuer.startswith(prefix) else ""
        )

    async def issue(
        self,
        tenant: tuple[int, str],
        account: Object,
        audiences: list[str],
        bound: Mapping[str, Ref],
        seconds: int,
        now: datetime,
    ) -> str:
        """``tenant``: number and name; ``bound``: by the names in `tokens.BOUND`."""
        number, name = tenant
        claims = tokens.make(self.issuer(name), audiences, account, bound, seconds, now)
        return await self._sign(number, tokens.encode(claims), claims.expires)

    async def issue_legacy(
        self, tenant: tuple[int, str], namespace: str, account: Ref, secret: str
    ) -> str:
        """A token to be kept in the secret of that name."""
        number, name = tenant
        payload = legacytokens.encode(namespace, account, secret, name)
        return await self._sign(number, payload, FOREVER)

    async def _sign(self, tenant: int, payload: Object, until: int) -> str:
        ring = await self.keys.whole_ring(tenant)
        assert ring.signer is not None, "it is whole"
        await self.keys.note(ring.generation, until)
        return ring.signer.sign(payload)

    async def recognize(self, tenant: tuple[int, str], token: str) -> Recognized | None:
        """None for what is no token of the tenant's issuer. Raises Refused where it says to be one,
        and is not."""
        if token.count(".") != 2:  # an operator's, and no JWT: not worth a hash for every request
            return None
        number, name = tenant
        place = number, _digest(token)
        under = await self.keys.generations()
        remembered = self._recognized.get(place)
        if remembered is not None and remembered.under is under:
            self._recognized.move_to_end(place)
            return remembered
        unsigned = parse(token)
        ours = (self.issuer(name), legacytokens.ISSUER)
        if unsigned is None or unsigned.claims.get("iss") not in ours:
            return None
        ring = await (self.keys.ring(number) if number else self.keys.nobodys_ring(name))
        key = ring.keys.get(unsigned.header.get("kid", ""))
        if key is None:
            raise Refused("invalid signature, no keys found")
        if not key.verifies(unsigned):
            raise Refused("go-jose/go-jose: error in cryptographic primitive")
        claims = _claims(unsigned, self.issuer(name), place[1])
        return self._remember(place, name, Recognized(claims, under))

    def _remember(self, place: tuple[int, bytes], name: str, recognized: Recognized) -> Recognized:
        self._recognized.keep(place, recognized)
        self._tenants.keep(place[1], name)
        return recognized

    async def admit(
        self,
        recognized: Recognized,
        audiences: Sequence[str],
        reader: Reader,
        now: datetime | None = None,
        used: Used = _nothing,
    ) -> Authenticated:
        """Whose the token is, when it is meant for one of ``audiences``, valid now, and all that it
        stands on is there. Raises Refused."""
        claims, now = recognized.claims, now or datetime.now(UTC)
        shared = tuple(a for a in audiences if a in claims.audiences)
        if not shared:
            raise Refused(
                f"token audiences {_quoted(claims.audiences)} is invalid for the target audiences "
                f"{_quoted(audiences)}"
            )
        if isinstance(claims, Claims):
            tokens.check_times(claims, now)
            await self._account(recognized, reader, now, used)
            return Authenticated(claims.user, shared)
        counts.used_legacy("tokens")
        try:
            account = await self._account(recognized, reader, now, used)
        except Refused as refused:
            refused.notes = {**legacytokens.subject_note(claims), **refused.notes}
            raise
        generated = legacytokens.is_generated(claims, account)
        counts.used_legacy("auto_token_uses" if generated else "manual_token_uses")
        warning = legacytokens.WARNING if generated else ""
        notes = legacytokens.notes(claims, generated=generated)
        return Authenticated(claims.user, shared, warning, notes)

    async def _account(
        self, recognized: Recognized, reader: Reader, now: datetime, used: Used
    ) -> Object:
        """All that the token stands on is there. Raises Refused."""
        claims = recognized.claims
        try:
            return await _check(claims, reader, now, used, fresh=False)
        except Missing:
            if self._clock() < recognized.gone_until:
                raise
        try:
            return await _check(claims, reader, now, used, fresh=True)
        except Missing:
            recognized.gone_until = self._clock() + _GONE
            raise


def _claims(token: Unsigned, issuer: str, digest: bytes) -> Claims | LegacyClaims:
    """Of a token whose signature is right. issuer: of the tenant. Raises Refused."""
    if token.claims.get("iss") == legacytokens.ISSUER:
        return legacytokens.decode(token.claims, issuer, digest)
    claims = tokens.decode(token.claims)
    if claims is None:
        raise Refused(
            "service account token claims could not be validated due to unexpected private claim"
        )
    return claims


async def _check(
    claims: Claims | LegacyClaims, reader: Reader, now: datetime, used: Used, *, fresh: bool
) -> Object:
    """The account. Raises Refused, Missing."""
    account = await reader.get(_ACCOUNTS, claims.namespace, claims.account.name, fresh=fresh)
    if isinstance(claims, LegacyClaims):
        secret = await reader.get(_SECRETS, claims.namespace, claims.secret, fresh=fresh)
        legacytokens.check_objects(claims, account, secret, now)
        assert account is not None and secret is not None, "they have been checked"
        if legacytokens.to_note(secret, now):
            used(claims.namespace, claims.secret)
        try:
            legacytokens.check_mark(claims, secret)
        except Refused:
            counts.used_legacy("invalid")
            raise
        return account
    bound = {}
    for kind, ref in claims.must_exist.items():
        namespace = "" if kind == "node" else claims.namespace
        bound[kind] = await reader.get(RESOURCES[kind], namespace, ref.name, fresh=fresh)
    tokens.check_objects(claims, account, bound, now)
    assert account is not None, "it has been checked"
    return account


def credential_of(token: str) -> str:
    """What an issued token is called where it must not be shown."""
    unsigned = parse(token)
    assert unsigned is not None, "it has been issued"
    return tokens.credential_id(unsigned.claims["jti"])


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _quoted(texts: Sequence[str]) -> str:
    return "[" + " ".join(go_quote(text) for text in texts) + "]"
