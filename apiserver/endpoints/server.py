"""Server: what the endpoints work with; `controlplane.wiring` puts it together once per process."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from apiserver.authn.serviceaccounts import AccountTokens
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.endpoints.watchdog import Watchdog
from apiserver.registry.core import Registry
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import Seeder
from apiserver.user import User


class TenantInfo(Protocol):
    """state: "active", "suspended" or "deleting". max_watches, max_inflight: None does not limit."""

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


class Directory(Protocol):
    """Tenants and bearer tokens, cached for at most two seconds."""

    async def tenant(self, name: str) -> TenantInfo | None: ...

    async def token(self, secret: str, tenant_id: int) -> User | None:
        """Who the token is for, None when it is unknown, expired, revoked, or not for this tenant."""


class Catalog(Protocol):
    """The resources of each tenant (apiserver.registry.core.Catalog), which have to be brought up to date before they are asked for."""

    async def ready(self, tenant: Tenant) -> None: ...

    async def fresh(self, tenant: Tenant) -> None:
        """As ready(), and not older than the call."""

    def stop(self) -> None: ...


class Stoppable(Protocol):
    def stop(self) -> None: ...


class Authorizer(Protocol):
    async def authorize(self, tenant: Tenant, attributes: Attributes) -> Decision: ...

    async def rules_for(self, tenant: Tenant, user: User, namespace: str) -> UserRules: ...


async def _nothing() -> None:
    return None


@dataclass(slots=True)
class Server:
    """git_version: as /version prints it; tokens: of service accounts; leaving: the process has been told to stop, readiness
    fails, requests are still served as ever; stopping: watches end and the listener closes; born: monotonic time; livez_grace: seconds
    from then on during which a start that is not finished does not make /livez fail."""

    registry: Registry
    catalog: Catalog
    definitions: Stoppable
    directory: Directory
    authorizer: Authorizer
    seeder: Seeder
    git_version: str
    tokens: AccountTokens = field(default_factory=AccountTokens.random)
    anonymous: bool = True
    stopping: bool = False
    started: bool = False
    leaving: bool = False
    born: float = field(default_factory=time.monotonic)
    livez_grace: float = 0.0
    inflight: dict[str, int] = field(default_factory=dict)
    taken: Counter[tuple[int, bool]] = field(default_factory=Counter)
    """Of the limits of tenants (`filters.limits`): (tenant, whether watches) to how many this process serves."""
    watchdog: Watchdog = field(init=False)
    stop: Callable[[], Awaitable[None]] = field(default=_nothing)
    """Ends what runs beside the requests; set by the wiring."""

    def __post_init__(self) -> None:
        self.watchdog = Watchdog(self.directory)
