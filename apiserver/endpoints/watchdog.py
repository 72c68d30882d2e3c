"""Ends watches whose right to run is gone: the tenant was suspended or deleted, the token revoked
or expired, or the service account or what its token is bound to is no longer there. Whose a token
is says authentication itself: no watch ends that a request may begin.

A request asks once, a watch goes on for an hour. One task per process looks at all open watches
together, tenant by tenant and token by token, so that thousands of watchers of one controller cost
one look; it runs only while there are any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from apiserver.authn.accountclaims import Refused
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import StorageError
from apiserver.watch.errors import WatchClosed
from apiserver.whose import shared_task

EVERY = 2.0  # seconds


class Right(NamedTuple):
    """By what a watch runs; token: "" for anonymous ones, and for those of a certificate, which go
    on when it ends, as kube-apiserver's do."""

    tenant: str
    tenant_id: int
    token: str


class Closable(Protocol):
    def close(self, error: Exception) -> None: ...


class _Tenant(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def state(self) -> str: ...


class _Directory(Protocol):
    async def tenant(self, name: str) -> _Tenant | None: ...


Identify = Callable[[Tenant, str], Awaitable[object | None]]
"""Whose bearer token it is in the tenant: None or Refused where it is nobody's, or nobody's any
more."""


class Watchdog:
    def __init__(self, directory: _Directory, identify: Identify, every: float = EVERY) -> None:
        self._directory, self._identify, self._every = directory, identify, every
        self._open: dict[Right, set[Closable]] = {}
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def guard(self, right: Right, watch: Closable) -> Iterator[None]:
        """``watch`` is closed within seconds after the right is gone."""
        self._open.setdefault(right, set()).add(watch)
        if self._looking is None or self._looking.done():
            self._looking = shared_task(self._look())
        try:
            yield
        finally:
            watches = self._open[right]
            watches.discard(watch)
            if not watches:
                del self._open[right]

    async def _look(self) -> None:
        while self._open:
            await asyncio.sleep(self._every)
            for right in list(self._open):
                if not await self._holds(right):
                    for watch in list(self._open.get(right, ())):
                        watch.close(WatchClosed("no longer allowed"))

    async def _holds(self, right: Right) -> bool:
        try:
            tenant = await self._directory.tenant(right.tenant)
            if tenant is None or tenant.id != right.tenant_id or tenant.state != "active":
                return False
            return (
                not right.token
                or await self._identify(Tenant(right.tenant_id, right.tenant), right.token)
                is not None
            )
        except Refused as refused:
            return refused.doubtful
        except StorageError:
            return True  # nobody can say so now; the next look will
