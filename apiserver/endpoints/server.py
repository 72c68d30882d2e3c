"""Server: what the endpoints work with; `controlplane.wiring` puts it together once per process."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from secrets import token_bytes
from typing import NamedTuple, Protocol

from apiserver.aggregation.aggregator import Aggregator
from apiserver.audit.recorder import Recorder
from apiserver.authn.clientca import ClientAuthority
from apiserver.authn.clientcertificates import ClientCertificates
from apiserver.authn.external import External
from apiserver.authn.requestheaders import HeaderNames
from apiserver.authn.serviceaccounts import AccountTokens
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.explain import Explanation
from apiserver.authz.grants import Asked, Granted, May
from apiserver.authz.lastmodes import LastModes
from apiserver.authz.rbac import UserRules
from apiserver.endpoints.metric_peers import Peers
from apiserver.endpoints.outlets import Outlets
from apiserver.endpoints.storage_size import StorageSize
from apiserver.endpoints.watchdog import Watchdog
from apiserver.flow.shares import Shares
from apiserver.registry.core import Registry
from apiserver.registry.flowcontrol import FlowControl
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import Seeder
from apiserver.request import DEFAULT_TENANT
from apiserver.user import User
from apiserver.watch.watches import MAX_UNREAD


class TenantInfo(Protocol):
    """state: "active", "suspended" or "deleting". max_watches, max_inflight: None for those of the
    installation."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def max_watches(self) -> int | None: ...
    @property
    def max_inflight(self) -> int | None: ...


OwnRows = Sequence[tuple[str, str, str, Sequence[str], int]]
"""In the order of names: name, display name, state, through what (owner, binding), how many there
are from the first of them on."""


class Directory(Protocol):
    """Tenants and bearer tokens, cached for at most two seconds."""

    async def tenant(self, name: str) -> TenantInfo | None: ...

    async def token(self, secret: str, tenant_id: int) -> User | None:
        """Who the token is for, in system:authenticated among other groups; None when it is
        unknown, expired, revoked, or not for this tenant."""

    async def home(self, secret: str) -> str:
        """The name of the one tenant that the token is good in; the default tenant's for a token
        that is good in all, or in none."""

    def remembered(self, secret: str, tenant: str) -> tuple[TenantInfo, User] | None:
        """The tenant of that name ("": the token's `home`) and whom the token stands for there;
        None where it is not good there, or where that is not known without asking."""

    async def named(self, tenant_id: int) -> str:
        """The name of the tenant of that number; the default tenant's where there is none."""

    async def own(self, subjects: Sequence[str], only: int, issuer: str, after: str) -> OwnRows:
        """The first tenants behind the name ``after`` in which one of ``subjects`` is an owner or
        is bound, but for those that go; see `owntenants.Person`. Not cached."""

    async def active(self, names: Sequence[str], begin: str, limit: int) -> Sequence[TenantInfo]:
        """Tenants that serve requests, from the name ``begin`` on in the order of names: of
        ``names``, or of all where there are none. Not cached."""


class Catalog(Protocol):
    """The resources of each tenant (apiserver.registry.core.Catalog), which have to be brought up
    to date before they are asked for."""

    async def ready(self, tenant: Tenant) -> None: ...

    async def fresh(self, tenant: Tenant) -> None:
        """As ready(), and not older than the call."""

    def stop(self) -> None: ...


class Stoppable(Protocol):
    async def stop(self) -> None: ...


class Authorizer(Protocol):
    async def authorize(self, tenant: Tenant, attributes: Attributes) -> Decision: ...

    async def rules_for(self, tenant: Tenant, user: User, namespace: str) -> UserRules: ...

    async def explain(self, tenant: Tenant, attributes: Attributes) -> Explanation: ...

    async def grants(self, tenant: Tenant, asked: Asked, may: May) -> Granted: ...


class Defaults(NamedTuple):
    """Limits of tenants whose rows say nothing of them."""

    watches: int = 2_000
    inflight: int = 400


async def _nothing() -> None:
    return None


async def _nobody(server: Server, tenant: Tenant, secret: str) -> None:
    return None


def _never() -> bool:
    return False


def _ignore(tenant: Tenant, namespace: str, secret: str) -> None:
    return None


@dataclass(slots=True)
class Server:
    """git_version: as /version prints it; tokens: of service accounts; certificates: of clients;
    proxy_headers: in which authenticating proxies say whose requests they are; external: tokens
    that others have made; anonymous_tenants: names of those whose RBAC is asked about requests
    without a token;
    tenant_domain: below which hosts are named after tenants, in lower case, "" where none are;
    leaving: the process has been told to stop, readiness fails, requests are still served as ever;
    stopping: watches end and the listener closes; born: monotonic time; livez_grace: seconds from
    then on during which a start that is not finished does not make /livez fail; max_unread: bytes
    that the clients of one tenant may leave unread in this process; shares: what is served of
    tenants' limits; last_modes: of impersonation; flags: settings by name, as /flagz shows them to
    an operator; started_at: wall clock, UTC; aggregator: the way to tenants' own API servers, None
    where there is none; audit: what is kept of requests; flows: priority and fairness, None where
    it is switched off; peers: the other workers, None where there are none; storage_size: what
    metrics tell of the database."""

    registry: Registry
    catalog: Catalog
    definitions: Stoppable
    directory: Directory
    authorizer: Authorizer
    seeder: Seeder
    git_version: str
    tokens: AccountTokens = field(default_factory=AccountTokens.random)
    certificates: ClientCertificates = field(
        default_factory=lambda: ClientCertificates(ClientAuthority(token_bytes(32)))
    )
    proxy_headers: HeaderNames = field(default_factory=HeaderNames)
    external: External = field(default_factory=External)
    anonymous_tenants: frozenset[str] = frozenset({DEFAULT_TENANT})
    tenant_domain: str = ""
    stopping: bool = False
    started: bool = False
    leaving: bool = False
    born: float = field(default_factory=time.monotonic)
    livez_grace: float = 0.0
    max_unread: int = MAX_UNREAD
    defaults: Defaults = field(default_factory=Defaults)
    shares: Shares = field(default_factory=Shares)
    aggregator: Aggregator | None = None
    last_modes: LastModes = field(default_factory=LastModes)
    flags: Mapping[str, str] = field(default_factory=dict)
    audit: Recorder = field(default_factory=Recorder)
    flows: FlowControl | None = None
    peers: Peers | None = None
    storage_size: StorageSize = field(default_factory=StorageSize)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    watchdog: Watchdog = field(init=False)
    outlets: Outlets = field(init=False)
    tells_selectors: Callable[[], bool] = field(default=_never)
    """Whether the authorizer wants to know what a list is limited to; set by the wiring."""
    token_used: Callable[[Tenant, str, str], None] = field(default=_ignore)
    """Hears of each use of a token that is kept in a secret (namespace, name) and does not say that
    it was used today; set by the wiring."""
    identify: Callable[[Server, Tenant, str], Awaitable[object | None]] = field(default=_nobody)
    """Whose bearer token it is (filters/authentication.py, which knows this class); set by the
    wiring."""
    stop: Callable[[], Awaitable[None]] = field(default=_nothing)
    """Ends what runs beside the requests; set by the wiring."""

    def __post_init__(self) -> None:
        self.watchdog = Watchdog(self.directory, partial(self.identify, self))
        self.outlets = Outlets(
            self.max_unread, lambda tenant: self.registry.watches.turnover(tenant)
        )
