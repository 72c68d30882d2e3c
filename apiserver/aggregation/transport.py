"""Connections to the API servers behind this one: over TLS, with the tenant's client certificate,
and only to addresses that webhooks may have, too.

A Service stands for its endpoints, as for webhooks (`admission.webhooks.services`): nothing here
routes cluster IPs. Errors are worded as Go's, because clients get to read them.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from admission.attributes import Lookup
from admission.webhooks import services
from admission.webhooks.addresses import AddressPolicy
from admission.webhooks.dialing import Dialer
from admission.webhooks.errors import CallFailed, ServiceError
from admission.webhooks.tls import client_context, identify
from apiserver.aggregation.backends import MOST_BUNDLE, Backend
from apiserver.aggregation.stream import Stream
from apiserver.authn.frontproxy import FrontProxy, Identity
from apiserver.registry.offload import Asker, beside
from apiserver.registry.scope import Tenant

CONNECT = 10.0
"""Seconds for names, TCP and TLS."""
_KEPT = 16
"""Contexts of one tenant."""
_RENEW = 24 * 3600.0
"""Seconds: a certificate lasts a week."""


class Unreachable(Exception):
    """No answer could be had; the text says why."""


class Unresolved(Unreachable):
    """The Service leads nowhere."""


@dataclass(slots=True)
class _Contexts:
    """Of one tenant. kept: with the time (monotonic) until which each is good, the least recently
    used first."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    kept: OrderedDict[tuple[bytes, bool], tuple[float, ssl.SSLContext]] = field(
        default_factory=OrderedDict
    )


class Transport:
    """One per process, on its event loop."""

    def __init__(self, policy: AddressPolicy, front_proxy: FrontProxy) -> None:
        self._front_proxy = front_proxy
        self._dialer = Dialer(policy, "API servers")
        self._contexts: dict[int, _Contexts] = {}

    def forget(self, tenant: int) -> None:
        self._contexts.pop(tenant, None)

    def close(self) -> None:
        self._dialer.close()

    async def open(self, tenant: Tenant, lookup: Lookup, backend: Backend) -> Stream:
        """A new connection to any endpoint of the backend. Raises Unresolved, Unreachable."""
        try:
            endpoint = await services.resolve(
                lookup, backend.namespace, backend.service, backend.port
            )
        except ServiceError as error:
            raise Unresolved(str(error)) from None
        context = await self._context(tenant, backend)
        try:
            async with asyncio.timeout(CONNECT):
                return Stream(
                    *await self._dialer.dial(tenant.id, *endpoint, context, backend.server_name)
                )
        except CallFailed as error:
            raise Unreachable(str(error)) from None
        except TimeoutError:
            raise Unreachable(f"dial tcp {endpoint.host}:{endpoint.port}: i/o timeout") from None

    async def _context(self, tenant: Tenant, backend: Backend) -> ssl.SSLContext:
        """Raises Unreachable."""
        bundle, insecure = backend.bundle, backend.insecure
        if bundle is None:
            text = f"unable to load root certificates: more than {MOST_BUNDLE} bytes"
            raise Unreachable(text)
        contexts = self._contexts.setdefault(tenant.id, _Contexts())
        async with contexts.turn:  # whoever wants the same one waits for it
            until, context = contexts.kept.get((bundle, insecure), (0.0, None))
            if context is None or until < time.monotonic():
                context = await beside(
                    Asker(tenant),
                    lambda: _make_context(
                        bundle, self._front_proxy.identity(tenant.id), insecure=insecure
                    ),
                )
                contexts.kept[bundle, insecure] = time.monotonic() + _RENEW, context
                if len(contexts.kept) > _KEPT:
                    contexts.kept.popitem(last=False)
            contexts.kept.move_to_end((bundle, insecure))
            return context


def _make_context(bundle: bytes, identity: Identity, *, insecure: bool) -> ssl.SSLContext:
    """Raises Unreachable."""
    try:
        context = client_context(None if insecure else bundle if bundle.strip() else b"")
    except CallFailed as error:
        raise Unreachable(str(error)) from None
    identify(context, identity.key + identity.certificate)
    return context
