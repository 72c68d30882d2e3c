"""Aggregator: what one process knows of the API servers behind it, and its way to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from admission.webhooks.addresses import AddressPolicy
from apiserver.aggregation.backends import Backends
from apiserver.aggregation.documents import Documents, Listed
from apiserver.aggregation.swagger import Swagger
from apiserver.aggregation.transport import Transport
from apiserver.authn.frontproxy import FrontProxy
from apiserver.registry.core import Registry
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import StorageError


class Exchange(Protocol):
    def close(self, error: Exception) -> None: ...


class Aggregator:
    """One per process. ``policy``: which addresses it calls."""

    def __init__(self, registry: Registry, policy: AddressPolicy, front_proxy: FrontProxy) -> None:
        self.backends = Backends(registry)
        self.transport = Transport(policy, front_proxy)
        self.documents = Documents(self.transport)
        self._exchanges: set[Exchange] = set()
        registry.watches.when_idle(self.documents.forget)
        registry.watches.when_idle(self.transport.forget)

    async def listed(self, tenant: Tenant) -> list[Listed]:
        """What other servers serve in the tenant, for its documents; without the database, what is
        known."""
        try:
            backends = await self.backends.of(tenant)
        except StorageError:
            return []
        local = self.backends.local(tenant) if backends else ()
        return self.documents.of(
            tenant.id, {gv: b for gv, b in backends.items() if gv not in local and not b.excess}
        )

    async def swaggers(self, tenant: Tenant) -> tuple[Swagger, ...]:
        """Their documents of version 2 of OpenAPI, likewise."""
        return self.documents.swaggers(tenant.id, await self.listed(tenant))

    @contextmanager
    def exchanging(self, exchange: Exchange) -> Iterator[None]:
        """While it goes on; `stop` ends it."""
        self._exchanges.add(exchange)
        try:
            yield
        finally:
            self._exchanges.discard(exchange)

    def end_exchanges(self) -> None:
        """The process stops: clients go on with another one."""
        for exchange in list(self._exchanges):
            exchange.close(ConnectionError("the server stops"))

    def stop(self) -> None:
        self.end_exchanges()
        self.transport.close()
