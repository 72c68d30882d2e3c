"""What tenants use, told in the status of their objects: of ten thousand tenants only those whose
numbers are others than the last time are looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from functools import partial

from admission.plugins.tenants import DEFAULT, TENANTS
from apiserver.controllers.actions import Actions
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from controlplane.tenancy.statuses import counts_of

EVERY = 60.0  # seconds
_AT_ONCE = 25
"""Objects that are written at a time."""


class Counting:
    """manager: who writes the status."""

    def __init__(self, actions: Actions, manager: str) -> None:
        self._actions, self._manager = actions, manager
        self._told: Mapping[str, Collection[int]] = {}

    async def tell(self, home: Tenant, used: Mapping[str, tuple[int, int, int]]) -> None:
        """used: by tenant objects, their bytes, bytes of the log. Raises what writes raise."""
        changed = [name for name, numbers in used.items() if self._told.get(name) != numbers]
        turns = asyncio.Semaphore(_AT_ONCE)
        cache = await self._actions.registry.watches.fresh(home.id, TENANTS)

        async def one(name: str) -> None:
            key = ObjectKey(*TENANTS, "", name)
            async with turns:
                if (entry := cache.get(key)) is None:
                    return
                before = (entry.object().get("status") or {}).get("counts") or {}
                counts = counts_of(*used[name])
                if counts == before or (name == DEFAULT and _only_the_log(before, counts)):
                    return
                edit = partial(_set_counts, counts)
                await self._actions.change(home, key, edit, "status", self._manager)

        done = await asyncio.gather(*map(one, changed), return_exceptions=True)
        failed = {name: e for name, e in zip(changed, done, strict=True) if e is not None}
        self._told = {name: numbers for name, numbers in used.items() if name not in failed}
        for error in failed.values():
            raise error


def _set_counts(counts: Object, obj: Object) -> bool:
    obj.setdefault("status", {})["counts"] = counts
    return True


def _only_the_log(before: Object, now: Object) -> bool:
    """Whether nothing but the log has grown: in the tenant where Tenant objects are, each write of
    a status does that, so that saying so would go on for ever."""
    return {**before, "logBytes": now["logBytes"]} == now
