"""What servers have answered, for a while, for each tenant apart."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MOST, MOST_OF_TENANT = 16_384, 1024


class Kept(Generic[T]):
    """Answers by tenant and key, the newest `MOST` of all and `MOST_OF_TENANT` of one tenant: what
    it asks is its own choice."""

    def __init__(
        self,
        most: int = MOST,
        most_of_tenant: int = MOST_OF_TENANT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._most_of_tenant, self._clock = most, most_of_tenant, clock
        self._kept: OrderedDict[tuple[int, bytes], tuple[float, T]] = OrderedDict()
        self._of_tenant: dict[int, OrderedDict[bytes, None]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, tenant: int, key: bytes) -> T | None:
        kept = self._kept.get((tenant, key))
        if kept is None:
            return None
        if kept[0] <= self._clock():
            self._drop(tenant, key)
            return None
        return kept[1]

    def keep(self, tenant: int, key: bytes, value: T, seconds: float) -> None:
        """Not at all where ``seconds`` is 0."""
        if seconds <= 0:
            return
        self._drop(tenant, key)
        own = self._of_tenant.get(tenant, ())
        if len(own) >= self._most_of_tenant:
            self._drop(tenant, next(iter(own)))
        elif len(self._kept) >= self._most:
            self._drop(*next(iter(self._kept)))
        self._kept[tenant, key] = self._clock() + seconds, value
        self._of_tenant.setdefault(tenant, OrderedDict())[key] = None

    def forget(self, tenant: int) -> None:
        for key in list(self._of_tenant.get(tenant, ())):
            self._drop(tenant, key)

    def _drop(self, tenant: int, key: bytes) -> None:
        if self._kept.pop((tenant, key), None) is not None:
            own = self._of_tenant[tenant]
            del own[key]
            if not own:
                del self._of_tenant[tenant]
