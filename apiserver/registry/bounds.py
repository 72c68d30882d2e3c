"""How long a write may wait for others: until its deadline, and while its client is there.

kube-apiserver gives a write 34 seconds, or what the query's ``timeout`` says if that is less
(k8s.io/apiserver ``endpoints/handlers/rest.go`` requestTimeoutUpperBound,
``endpoints/filters/request_deadline.go``).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from admission.attributes import Bounds
from apiserver.errors import TimedOut
from apiserver.registry.offload import ClientGone, by_size
from apiserver.registry.scope import Scope

T = TypeVar("T")


class RequestBounds(Bounds):
    """Those of the request that made the scope."""

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    @property
    def seconds_left(self) -> float:
        return self._scope.until - time.monotonic()

    async def within(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(work)
        gone, left = self._scope.gone, self.seconds_left
        leaving = asyncio.ensure_future(gone()) if gone is not None else None
        try:
            await asyncio.wait(
                {task} if leaving is None else {task, leaving},
                timeout=max(left, 0) if left < math.inf else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if task.done():
                return task.result()
            if leaving is not None and leaving.done():
                raise ClientGone
            raise TimedOut(
                "Timeout: request did not complete within requested timeout - "
                "context deadline exceeded"
            )
        finally:
            for running in filter(None, (task, leaving)):
                running.cancel()
            await asyncio.gather(*filter(None, (task, leaving)), return_exceptions=True)

    async def by_size(self, size: int, work: Callable[[], T]) -> T:
        return await by_size(self._scope.asker(size), work)
