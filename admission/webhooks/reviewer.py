"""Reviewer: asks one server of the operator's, again if it does not answer (k8s.io/apiserver
``pkg/util/webhook/webhook.go`` WithExponentialBackoff)."""

from __future__ import annotations

import asyncio
import random
from weakref import WeakValueDictionary

from admission.webhooks.addresses import AddressPolicy
from admission.webhooks.answers import body_of
from admission.webhooks.connection import Connection, Gone
from admission.webhooks.dialing import Dialer, errno_text
from admission.webhooks.errors import CallFailed
from admission.webhooks.kubeconfig import Backend

TIMEOUT = 30.0
"""Seconds for one try."""
TRIES, FACTOR, JITTER = 5, 1.5, 0.2
AT_ONCE = 8
"""Calls of one tenant under way: it chooses how many there are to ask about."""
MOST_BYTES = 1024 * 1024
_AGENT = "kube-apiserver-admission"
_AGAIN = frozenset({429, 500, 504})
"""Of an answer; without one it is asked again only where the connection was reset."""


class Reviewer:
    """One per process. pause: seconds before the second try; each later one waits longer."""

    def __init__(self, backend: Backend, pause: float, timeout: float = TIMEOUT) -> None:
        self._backend, self._pause, self._timeout = backend, pause, timeout
        self._dialer = Dialer(AddressPolicy(denied=()), "servers")
        self._turns: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    async def ask(self, tenant: int, body: bytes) -> bytes:
        """The body of the answer. Raises CallFailed."""
        turn = self._turns.get(tenant)
        if turn is None:
            turn = self._turns[tenant] = asyncio.Semaphore(AT_ONCE)
        async with turn:
            pause = self._pause
            for left in reversed(range(TRIES)):
                try:
                    return await self._once(tenant, body)
                except CallFailed as error:
                    if not left or error.code not in _AGAIN:
                        raise
                await asyncio.sleep(pause * (1 + random.random() * JITTER))  # noqa: S311  spread
                pause *= FACTOR
        raise AssertionError("the last try returns or raises")

    async def _once(self, tenant: int, body: bytes) -> bytes:
        backend = self._backend
        headers = [("Host", backend.authority), ("User-Agent", _AGENT), *backend.headers]
        headers += [("Content-Length", str(len(body))), ("Content-Type", "application/json")]
        headers += [("Accept", "application/json, */*"), ("Connection", "close")]
        try:
            async with asyncio.timeout(self._timeout):
                connection = Connection(
                    *await self._dialer.dial(
                        tenant, backend.host, backend.port, backend.context, backend.name
                    )
                )
                try:
                    answer = await connection.post(backend.path, headers, body, MOST_BYTES)
                finally:
                    connection.abort()
        except (TimeoutError, Gone, OSError, CallFailed) as error:
            code = 500 if isinstance(error, ConnectionResetError) else 0
            raise CallFailed(f'Post "{backend.url}": {_why(error)}', code) from None
        return body_of(answer)


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    if isinstance(error, Gone):
        return "EOF"
    return errno_text(error) if isinstance(error, OSError) else str(error)
