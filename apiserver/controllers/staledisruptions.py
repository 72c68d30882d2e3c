"""Pods that have said for too long that they are about to be disrupted: they stay, and say so
(kubernetes ``pkg/controller/disruption``, its stale pod disruptions)."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.disruption import PODS
from apiserver.controllers.disruptionstatus import seconds_until_stale
from apiserver.controllers.upkeep import Due
from apiserver.kinds.core import podconditions
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey

_TARGET = b'"DisruptionTarget"'
_LEAST = 0.05
"""Seconds until the look at one that is stale already."""
_HOUR = 3600.0
_MOST = 1000


class StaleDisruptions:
    """Looks at pods by ``namespace/name``."""

    controller = names.DISRUPTION
    resources = frozenset({PODS})

    def __init__(self, actions: Actions) -> None:
        self._actions, self._due = actions, Due(_HOUR)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key, data = event.record.key, event.record.data
        if event.type == "DELETED" or _TARGET not in data:
            return None
        left = seconds_until_stale(orjson.loads(data), now())
        return None if left is None else (f"{key.namespace}/{key.name}", max(left, _LEAST))

    async def look(self, tenant: Tenant, name: str) -> float | None:
        key = ObjectKey(*PODS, *name.split("/"))
        pod = await self._actions.get(tenant, key)
        left = None if pod is None else seconds_until_stale(pod, now())
        if left is None or left > 0:
            return left

        def edit(obj: Object) -> bool:
            left = seconds_until_stale(obj, now())
            if left is None or left > 0:
                return False
            generation = obj["metadata"].get("generation", 0)
            podconditions.put(obj, now(), "DisruptionTarget", state="False", generation=generation)
            return True

        await self._actions.change(tenant, key, edit, "status")
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        """Pods are many and always change: those that a dead process left are looked for once an
        hour."""
        stale = list[str]()
        if self._due.now(tenant):
            async for record in self._actions.each(tenant, PODS):
                if len(stale) >= _MOST:
                    break
                if _TARGET in record.data:
                    stale.append(f"{record.key.namespace}/{record.key.name}")
        return stale
