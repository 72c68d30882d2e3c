"""Reviewer: asks one server of the operator's, again if it does not answer (k8s.io/apiserver
``pkg/util/webhook/webhook.go`` WithExponentialBackoff)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from weakref import WeakValueDictionary

from admission.webhooks.addresses import AddressPolicy
from admission.webhooks.answers import body_of
from admission.webhooks.connection import Answer, Connection, Gone
from admission.webhooks.dialing import Dialer, why_failed
from admission.webhooks.errors import CallFailed
from admission.webhooks.idle import Idle
from admission.webhooks.kubeconfig import Backend

TIMEOUT = 30.0
"""Seconds for one try."""
TRIES, FACTOR, JITTER = 5, 1.5, 0.2
AT_ONCE = 8
MOST_IDLE = 16
"""Connections that are kept; all tenants' questions go to one server, as one client."""
MOST_BYTES = 1024 * 1024
"""Of an answer."""
_OWN = 0
"""In the place of a tenant's number, by which `Idle` keeps connections apart."""
_AGENT = "kube-apiserver-admission"
_GATEWAY_TIMEOUT = 504
_AGAIN = frozenset({429, 500, _GATEWAY_TIMEOUT})
"""Codes of answers after which the server is asked again; without an answer it is only where the
connection was reset."""


Tried = Callable[[str, float], None]
"""Called with the result of a try ("success", "timeout", "error", "canceled") and its seconds."""


class Reviewer:
    """One for each such server, in a process. pause: seconds before the second try; each later one
    waits longer; at_once: calls of one tenant under way, because it chooses how many there are to
    ask about."""

    def __init__(
        self, backend: Backend, pause: float, timeout: float = TIMEOUT, at_once: int = AT_ONCE
    ) -> None:
        self._backend, self._pause, self._timeout = backend, pause, timeout
        self._headers = backend.headers()
        self._at_once, self._idle = at_once, Idle(MOST_IDLE, MOST_IDLE)
        self._dialer = Dialer(AddressPolicy(denied=()), "servers")
        self._turns: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    async def ask(self, tenant: int, body: bytes, tried: Tried | None = None) -> bytes:
        """The body of the answer. ``tried``: hears of each try. Raises CallFailed."""
        turn = self._turns.get(tenant)
        if turn is None:
            turn = self._turns[tenant] = asyncio.Semaphore(self._at_once)
        async with turn:
            pause = self._pause
            for left in reversed(range(TRIES)):
                try:
                    return await self._counted(tenant, body, tried)
                except CallFailed as error:
                    if not left or error.code not in _AGAIN:
                        raise
                await asyncio.sleep(pause * (1 + random.random() * JITTER))  # noqa: S311  spread
                pause *= FACTOR
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Questions that are under way are still answered."""
        self._dialer.close()
        self._idle.abort()

    async def _counted(self, tenant: int, body: bytes, tried: Tried | None) -> bytes:
        if tried is None:
            return await self._once(tenant, body)
        began, result = time.perf_counter(), "error"
        try:
            answer = await self._once(tenant, body)
            result = "success"
            return answer
        except CallFailed as error:
            result = result_of(error)
            raise
        except asyncio.CancelledError:
            result = "canceled"
            raise
        finally:
            tried(result, time.perf_counter() - began)

    async def _once(self, tenant: int, body: bytes) -> bytes:
        backend = self._backend
        headers = [("Host", backend.authority), ("User-Agent", _AGENT), *self._headers]
        headers += [("Content-Length", str(len(body))), ("Content-Type", "application/json")]
        headers.append(("Accept", "application/json, */*"))
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._exchange(tenant, headers, body)
        except (TimeoutError, Gone, OSError, CallFailed) as error:
            code = 500 if isinstance(error, ConnectionResetError) else 0
            late = isinstance(error, TimeoutError)
            raise CallFailed(
                f'Post "{backend.url}": {why_failed(error)}', code, late=late
            ) from None
        return body_of(answer)

    async def _exchange(self, tenant: int, headers: list[tuple[str, str]], body: bytes) -> Answer:
        kept = self._idle.take(_OWN, "")
        if kept is not None:
            try:
                return await self._post(kept, headers, body)
            except (Gone, ConnectionError):
                pass  # it had been closed while nobody looked
        backend = self._backend
        streams = await self._dialer.dial(
            tenant, backend.host, backend.port, backend.context, backend.name
        )
        return await self._post(Connection(*streams), headers, body)

    async def _post(
        self, connection: Connection, headers: list[tuple[str, str]], body: bytes
    ) -> Answer:
        try:
            answer = await connection.post(self._backend.path, headers, body, MOST_BYTES)
        except BaseException:
            connection.abort()
            raise
        self._idle.keep(_OWN, "", connection)
        return answer


def result_of(error: CallFailed) -> str:
    return "timeout" if error.late or error.code == _GATEWAY_TIMEOUT else "error"
