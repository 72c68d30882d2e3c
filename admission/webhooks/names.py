"""Names to addresses, off the event loop and beside everything else that waits in threads.

A tenant chooses the names: one whose name servers do not answer must keep neither the loop nor the
look-ups of others waiting. So look-ups have threads of their own, a tenant can hold few of them at
a time, and all of a tenant who ask for a name at one moment share one look-up: that of another
tenant may be behind names that never answer. Tenants whose look-ups take long have few threads
together (`apiserver.flow.lanes`).
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from admission.webhooks.addresses import is_address
from apiserver.flow.lanes import Lanes

_THREADS = 64
_AT_ONCE, _SLOW, _PER_TENANT = 24, 8, 2
_PATIENCE = 1.0
"""Seconds after which a look-up is slow: it keeps its thread, and not its place."""


class Resolver:
    """One per process."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(
            _THREADS, "webhook-names"
        )  # threads start when they are needed
        self._asked: dict[tuple[int, str], asyncio.Task[list[str]]] = {}
        self._turns = Lanes(_AT_ONCE, _SLOW, _PER_TENANT, _PATIENCE)

    async def resolve(self, tenant: int, host: str) -> list[str]:
        """Addresses in the order of preference, at least one. Raises OSError."""
        if is_address(host):
            return [host]
        key = (tenant, host)
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = asyncio.create_task(self._ask(tenant, host))
            asked.add_done_callback(lambda task: self._answered(key, task))
        return await asyncio.shield(asked)

    async def _ask(self, tenant: int, host: str) -> list[str]:
        async with self._turns.of(tenant):
            addresses = await asyncio.get_running_loop().run_in_executor(
                self._threads, _look_up, host
            )
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        return addresses

    def _answered(self, key: tuple[int, str], task: asyncio.Task[list[str]]) -> None:
        self._asked.pop(key, None)
        if not task.cancelled():
            task.exception()  # everybody who asked may have left

    def close(self) -> None:
        for task in self._asked.values():
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str) -> list[str]:
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except ValueError:  # no name at all: an empty label, a NUL
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in answers))
