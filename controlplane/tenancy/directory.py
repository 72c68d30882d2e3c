"""Tenants and tokens for the request path: asynchronous, without Django's ORM, remembered for at
most two seconds.

Readers that miss at the same moment share one query. What does not exist is remembered too, so that
a client with a wrong token costs one query in two seconds; the memory is bounded, because clients
choose what is asked for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from apiserver.platformroles import ROLES
from apiserver.request import DEFAULT_TENANT
from apiserver.tenantnames import is_name
from apiserver.user import User, authenticated
from controlplane.tenancy import owntenants
from controlplane.tenancy.fetching import Fetch
from controlplane.tenancy.tokens import token_hash

REMEMBERED = 2.0  # seconds
_MOST = 10_000
_USED_EVERY = timedelta(hours=1)

_LOOK_UP = """
SELECT k.id, "user", uid, groups, tenant_id, t.name, k.expires_at, k.last_used,
       ARRAY(SELECT g.name FROM auth_user u
             JOIN auth_user_groups m ON m.user_id = u.id JOIN auth_group g ON g.id = m.group_id
             WHERE k.tenant_id IS NULL AND u.is_active AND g.name = ANY(%s)
                   AND u.id = CASE WHEN uid ~ '^console:[1-9][0-9]{0,8}$'
                                   THEN substr(uid, 9)::bigint END)
FROM tenancy_apitoken k LEFT JOIN tenancy_tenant t ON t.id = tenant_id
WHERE hash = %s AND revoked_at IS NULL"""
"""With the platform roles of the console account that the token's uid names
(`controlplane.accounts.api_uid`); of a token for one tenant there are none. A name decides nothing:
an OpenID provider gives names to accounts, too."""

_TENANT = "SELECT id, name, state, max_watches, max_inflight FROM tenancy_tenant"

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class TenantInfo:
    """max_watches, max_inflight: None for those of the installation."""

    id: int
    name: str
    state: str
    max_watches: int | None = None
    max_inflight: int | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    """tenant_id None, tenant "": valid in every tenant."""

    id: int
    user: User
    tenant_id: int | None
    tenant: str
    expires_at: datetime | None


class _Remembered(Generic[K, V]):
    """key → value for two seconds, one load per key at a time."""

    def __init__(self, load: Callable[[K], Awaitable[V]], clock: Callable[[], float]) -> None:
        self._load, self._clock = load, clock
        self._answers: dict[K, tuple[float, V]] = {}
        self._loading: dict[K, asyncio.Future[V]] = {}

    async def get(self, key: K) -> V:
        remembered = self._answers.get(key)
        if remembered is not None and remembered[0] > self._clock():
            return remembered[1]
        loading = self._loading.get(key)
        if loading is None:
            loading = self._loading[key] = asyncio.ensure_future(self._fill(key))
        return await asyncio.shield(
            loading
        )  # a client that leaves must not fail the others that wait

    def peek(self, key: K, now: float) -> V | None:
        """The value, where it is remembered at ``now``; None as well where that is the value."""
        remembered = self._answers.get(key)
        return remembered[1] if remembered is not None and remembered[0] > now else None

    async def _fill(self, key: K) -> V:
        began = self._clock()
        try:
            value = await self._load(key)
        finally:
            del self._loading[key]
        if len(self._answers) >= _MOST:
            self._answers.clear()
        self._answers[key] = (began + REMEMBERED, value)
        return value


class Directory:
    """``fetch`` runs the queries; see `apiserver.endpoints.server.Directory` for the contract."""

    def __init__(self, fetch: Fetch, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch, self._clock = fetch, clock
        self._tenants: _Remembered[str, TenantInfo | None] = _Remembered(self._load_tenant, clock)
        self._names: _Remembered[int, str] = _Remembered(self._load_name, clock)
        self._documents: _Remembered[int, str] = _Remembered(self._load_document, clock)
        self._tokens: _Remembered[bytes, _Token | None] = _Remembered(self._load_token, clock)

    async def tenant(self, name: str) -> TenantInfo | None:
        """The tenant of that name in any state; None when there is none. What cannot be a name is
        neither asked for nor remembered."""
        return await self._tenants.get(name) if is_name(name) else None

    def remembered(self, secret: str, tenant: str) -> tuple[TenantInfo, User] | None:
        """What `home`, `tenant` and `token` say of a token in the tenant of that name ("": in the
        one it is for); None where it is not good there, and where somebody has to be asked."""
        now = self._clock()
        token = self._tokens.peek(token_hash(secret), now)
        if token is None:
            return None
        info = self._tenants.peek(tenant or token.tenant or DEFAULT_TENANT, now)
        if info is None or (token.tenant_id is not None and token.tenant_id != info.id):
            return None
        if token.expires_at is not None and token.expires_at <= datetime.now(UTC):
            return None
        return info, token.user

    async def token(self, secret: str, tenant_id: int) -> User | None:
        """Whom the token stands for in that tenant; None when it is unknown, expired, revoked or
        another tenant's."""
        token = await self._tokens.get(token_hash(secret))
        if token is None or token.tenant_id not in (None, tenant_id):
            return None
        if token.expires_at is not None and token.expires_at <= datetime.now(UTC):
            return None
        return token.user

    async def home(self, secret: str) -> str:
        """The name of the one tenant that the token is for, expired or not; the default tenant's
        for one that is good everywhere, or unknown."""
        token = await self._tokens.get(token_hash(secret))
        return token.tenant if token is not None and token.tenant else DEFAULT_TENANT

    async def named(self, tenant_id: int) -> str:
        """The name of the tenant of that number; the default tenant's where there is none."""
        return await self._names.get(tenant_id)

    async def own(
        self, subjects: Sequence[str], only: int, issuer: str, after: str
    ) -> Sequence[tuple[str, str, str, Sequence[str], int]]:
        """As `apiserver.endpoints.server.Directory` says."""
        most = owntenants.MOST
        rows = await self._fetch(
            *owntenants.statement(subjects, only, issuer, after=after, most=most)
        )
        return [(str(n), str(d), str(s), list(t), int(c)) for n, d, s, t, c in rows]

    async def active(self, names: Sequence[str], begin: str, limit: int) -> Sequence[TenantInfo]:
        """As `apiserver.endpoints.server.Directory` says."""
        rows = await self._fetch(
            f"{_TENANT} WHERE state = 'active' AND name >= %s COLLATE \"C\" "
            'AND (%s OR name = ANY(%s)) ORDER BY name COLLATE "C" LIMIT %s',
            [begin, not names, list(names), limit],
        )
        return [TenantInfo(*row) for row in rows]

    async def authentication(self, tenant_id: int) -> str:
        """The tenant's own AuthenticationConfiguration, "" where it has none."""
        return await self._documents.get(tenant_id)

    async def _load_document(self, number: int) -> str:
        rows = await self._fetch(
            "SELECT document FROM tenancy_authentication WHERE tenant_id = %s", [number]
        )
        return str(rows[0][0]) if rows else ""

    async def _load_name(self, number: int) -> str:
        rows = await self._fetch("SELECT name FROM tenancy_tenant WHERE id = %s", [number])
        return str(rows[0][0]) if rows else DEFAULT_TENANT

    async def _load_tenant(self, name: str) -> TenantInfo | None:
        rows = await self._fetch(f"{_TENANT} WHERE name = %s", [name])
        return TenantInfo(*rows[0]) if rows else None

    async def _load_token(self, digest: bytes) -> _Token | None:
        rows = await self._fetch(_LOOK_UP, [list(ROLES), digest])
        if not rows:
            return None
        number, user, uid, groups, tenant_id, tenant, expires_at, last_used, roles = rows[0]
        if last_used is None or last_used < datetime.now(UTC) - _USED_EVERY:
            await self._fetch(
                "UPDATE tenancy_apitoken SET last_used = now() WHERE id = %s RETURNING id", [number]
            )
        return _Token(
            number,
            User(
                user,
                uid,
                authenticated(groups, user),
                everywhere=tenant_id is None,
                platform=frozenset(roles),
            ),
            tenant_id,
            tenant or "",
            expires_at,
        )
