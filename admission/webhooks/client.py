"""WebhookClient: POSTs a review to a webhook and brings back what it answers; for conversion
webhooks and admission webhooks alike.

Nothing is retried but a connection that had gone stale, no redirect is followed, no proxy is asked.
Everything about one call - names, connection, TLS, the answer - has to be done within one timeout.
Connections are kept for a while, per tenant.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any
from weakref import WeakValueDictionary

from admission.attributes import Lookup
from admission.webhooks import services
from admission.webhooks.addresses import AddressPolicy
from admission.webhooks.answers import body_of
from admission.webhooks.connection import Answer, Connection, Gone
from admission.webhooks.dialing import Dialer, why_failed
from admission.webhooks.errors import CallFailed, ServiceError
from admission.webhooks.idle import Idle
from admission.webhooks.target import Target
from admission.webhooks.tls import Contexts

TIMEOUT = 30.0
"""Seconds for a call; admission webhooks say their own."""
MOST_BYTES, MOST_FACTOR = 4 * 1024 * 1024, 4
"""Of an answer: so many, and so many times the bytes of the question. It is parsed in one go, and
all tenants of the process wait."""
_KEPT, _KEPT_FOR_TENANT = 8, 32
"""Idle connections to one address, and of one tenant to all: it chooses how many addresses there
are."""
AT_ONCE = 64
"""Calls of one tenant under way; more wait for their turn, and that counts as their time. A request
may have hundreds of webhooks, and a connection costs this process memory and a descriptor."""
LARGE, LARGE_AT_ONCE = 256 * 1024, 8
"""Bytes of a question from which fewer are asked at once, because each takes several times its size
of memory while it is sent."""
_AGENT = "kube-apiserver-admission"

_Key = tuple[str, int, str, bytes]


class WebhookClient:
    """One per process, on its event loop. policy: which addresses it calls; timeout: seconds for a
    call that names none itself."""

    def __init__(self, policy: AddressPolicy | None = None, timeout: float = TIMEOUT) -> None:
        self.policy = policy or AddressPolicy()
        self.timeout = timeout
        self._dialer = Dialer(self.policy, "webhooks")
        self._contexts = Contexts()
        self._idle = Idle(_KEPT, _KEPT_FOR_TENANT)
        self._turns: WeakValueDictionary[tuple[int, bool], asyncio.Semaphore] = (
            WeakValueDictionary()
        )

    async def post(
        self,
        tenant: int,
        config: Mapping[str, Any],
        body: bytes | Callable[[], bytes],
        lookup: Lookup,
        limit: float | None = None,
        size: int = 0,
    ) -> bytes:
        """The body of the answer. config: a clientConfig; body: what is sent, or what makes it when
        the call has its turn, of about ``size`` bytes; lookup: where Services of the tenant are
        found; limit: seconds, of which the webhook is told whole ones. Raises CallFailed, whose
        text names the URL, except where an answer came that is a failure."""
        seconds = limit if limit is not None else self.timeout
        target = Target.of(config, seconds if limit is None else math.ceil(limit))
        try:
            async with asyncio.timeout(seconds), AsyncExitStack() as turns:
                if size >= LARGE:
                    await turns.enter_async_context(self._turn(tenant, large=True))
                await turns.enter_async_context(self._turn(tenant, large=False))
                data = body if isinstance(body, bytes) else body()
                answer = await self._call(tenant, target, data, lookup)
        except (OSError, ServiceError, CallFailed) as error:
            if isinstance(error, CallFailed) and not error.configured:
                raise
            why = why_failed(error)
            if isinstance(error, TimeoutError) and limit is None:
                why += " (Client.Timeout exceeded while awaiting headers)"
            raise _failed(target, why) from None
        return body_of(answer)

    def _turn(self, tenant: int, *, large: bool) -> asyncio.Semaphore:
        turn = self._turns.get((tenant, large))
        if turn is None:
            turn = asyncio.Semaphore(LARGE_AT_ONCE if large else AT_ONCE)
            self._turns[tenant, large] = turn
        return turn

    async def close(self) -> None:
        self._dialer.close()
        await self._idle.close()

    # --- one call ---------------------------------------------------------------------------------
    async def _call(self, tenant: int, target: Target, body: bytes, lookup: Lookup) -> Answer:
        host, port = target.name, target.port
        if target.service is not None:
            host, port = await services.resolve(lookup, *target.service, target.port)
        key = (host, port, target.name, target.bundle)
        headers = [
            ("Host", target.authority),
            ("User-Agent", _AGENT),
            ("Content-Length", str(len(body))),
        ]
        headers += [("Accept", "application/json, */*"), ("Content-Type", "application/json")]
        kept = self._idle.take(tenant, key)
        if kept is not None:
            try:
                return await self._exchange(tenant, key, kept, target, headers, body)
            except (Gone, ConnectionError):
                pass  # it had been closed while nobody looked
        fresh = await self._dial(tenant, host, port, target)
        try:
            return await self._exchange(tenant, key, fresh, target, headers, body)
        except Gone:
            raise CallFailed("EOF") from None

    async def _exchange(
        self,
        tenant: int,
        key: _Key,
        connection: Connection,
        target: Target,
        headers: list[tuple[str, str]],
        body: bytes,
    ) -> Answer:
        try:
            answer = await connection.post(
                target.path, headers, body, MOST_BYTES + MOST_FACTOR * len(body)
            )
        except BaseException:
            connection.abort()
            raise
        self._idle.keep(tenant, key, connection)
        return answer

    async def _dial(self, tenant: int, host: str, port: int, target: Target) -> Connection:
        context = await self._contexts.of(tenant, target.bundle)
        return Connection(*await self._dialer.dial(tenant, host, port, context, target.name))


def _failed(target: Target, why: str) -> CallFailed:
    return CallFailed(f'Post "{target.url}": {why}')
