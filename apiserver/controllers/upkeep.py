"""Keepers: controllers that hold something in a tenant to what it should be, each by the name of
what it looks at.

A keeper hears of what its own process commits, also while a later look of its own is waited for,
and is asked by the elected process what was missed in tenants that have changed since the last
sweep. A look that fails is followed by others after pauses that grow; what then still fails is left
to the sweep.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from math import inf
from typing import Protocol, runtime_checkable

from apiserver.controllers.turns import turns
from apiserver.errors import ApiError
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import Event
from apiserver.storage.relations import Relations

log = logging.getLogger("polyplane.controllers")

FIRST, LONGEST = 0.25, 8.0
"""Seconds of the shortest and the longest pause after a look that failed."""
ATTEMPTS = 8

TurnedOff = Callable[[int], Awaitable[Collection[str]]]
"""The controllers that a tenant does without, by name."""


class Keeper(Protocol):
    """controller: its name in kube-controller-manager's --controllers; resources: whose events
    concern it (None: of all resources)."""

    @property
    def controller(self) -> str: ...
    @property
    def resources(self) -> frozenset[GroupResource] | None: ...

    def concerned(self, event: Event) -> tuple[str, float] | None:
        """What to look at after this event, and in how many seconds; None: at nothing."""

    async def look(self, tenant: Tenant, name: str) -> float | None:
        """Puts right what has that name, which may be nothing; the seconds until another look, or
        None. Raises ApiError, StorageError: to be tried again."""

    async def missed(self, tenant: int) -> Sequence[str]:
        """Names to look at that the database shows, bounded; asks storage only."""


@runtime_checkable
class AtUse(Protocol):
    """A keeper that also has something to do because a tenant is in use."""

    def used(self, tenant: int) -> Sequence[str]:
        """Names to look at now that somebody uses the tenant. Asked every few seconds while
        requests come; what it knows by heart only."""


class Due:
    """Which tenants a keeper has something to do for because they are in use; asked again after
    ``again`` seconds, unless it is done."""

    def __init__(self, again: float = 60.0, most: int = 100_000) -> None:
        self._again, self._most = again, most
        self._next: dict[int, float] = {}

    def now(self, tenant: int) -> bool:
        moment = time.monotonic()
        if moment < self._next.get(tenant, 0.0):
            return False
        if len(self._next) >= self._most:
            self._next.clear()
        self._next[tenant] = moment + self._again
        return True

    def done(self, tenant: int) -> None:
        self._next[tenant] = inf

    def anew(self) -> None:
        """Something has changed that concerns every tenant: all are due."""
        self._next.clear()


class Rest:
    """What is left alone for ``share`` times as long as a look at it took, if that was longer than
    ``cheap`` seconds: what always changes must not always be counted."""

    def __init__(self, share: float, cheap: float = 0.0, most: int = 10_000) -> None:
        self._share, self._cheap, self._most = share, cheap, most
        self._until: OrderedDict[tuple[int, str], float] = OrderedDict()

    def left(self, tenant: int, name: str) -> float:
        """Seconds; not above 0 when it may be looked at."""
        return self._until.get((tenant, name), 0.0) - time.monotonic()

    def after(self, tenant: int, name: str, began: float) -> None:
        """The look that began then (time.monotonic) is over."""
        ended = time.monotonic()
        if (cost := ended - began) <= self._cheap:
            return
        self._until[tenant, name] = ended + self._share * cost
        self._until.move_to_end((tenant, name))
        if len(self._until) > self._most:
            self._until.popitem(last=False)

    async def around(
        self, tenant: int, name: str, look: Callable[[], Awaitable[float | None]]
    ) -> float | None:
        """Looks, unless it is to be left alone. The seconds until the next look, if any."""
        if (rest := self.left(tenant, name)) > 0:
            return rest
        began = time.monotonic()
        wait = await look()
        self.after(tenant, name, began)
        return wait


class Shown:
    """Names that the database has shown to a sweep: about these the watch caches, which may be
    older, are not asked."""

    def __init__(self) -> None:
        self._names = set[tuple[int, str]]()

    def add(self, tenant: int, names: Iterable[str]) -> None:
        self._names.update((tenant, name) for name in names)

    def take(self, tenant: int, name: str) -> bool:
        """Whether it was shown; it counts once."""
        if (tenant, name) not in self._names:
            return False
        self._names.discard((tenant, name))
        return True


class Unchanged:
    """Which tenants' objects of a resource have been looked at in the state in which they are, so
    that a sweep reads none of them."""

    def __init__(self, relations: Relations, resource: GroupResource, most: int = 10_000) -> None:
        self._relations, self._resource, self._most = relations, resource, most
        self._seen: dict[int, tuple[int, int]] = {}

    async def since_last(self, tenant: int) -> bool:
        """Whether nothing has changed since the last call. True, too, where the tenant has no such
        object."""
        state = await self._relations.state(tenant, self._resource)
        if len(self._seen) >= self._most:
            self._seen.clear()
        before, self._seen[tenant] = self._seen.get(tenant), state
        return before == state or not state[0]


class _Pause:
    """Before a look that nothing has failed for. What happens meanwhile makes it shorter, if it is
    to be looked at sooner, but not shorter than `FIRST`, so that many events lead to one look."""

    def __init__(self, seconds: float) -> None:
        began = time.monotonic()
        self._least, self._until = began + FIRST, began + seconds
        self._moved = asyncio.Event()

    def shorten(self, delay: float) -> None:
        until = max(self._least, time.monotonic() + delay)
        if until < self._until:
            self._until = until
            self._moved.set()

    async def over(self) -> None:
        while (left := self._until - time.monotonic()) > 0:
            self._moved.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._moved.wait()


class Upkeep:
    """Runs the keepers of one process. tenant_of: as for `Controllers`."""

    def __init__(
        self,
        keepers: Sequence[Keeper],
        tenant_of: Callable[[int], Awaitable[Tenant | None]],
        turned_off: TurnedOff,
    ) -> None:
        self._keepers, self._tenant_of, self._turned_off = keepers, tenant_of, turned_off
        self._everywhere = [k for k in keepers if k.resources is None]
        self._at_use = [k for k in keepers if isinstance(k, AtUse)]
        self._of: dict[GroupResource, list[Keeper]] = {}
        for keeper in keepers:
            for resource in keeper.resources or ():
                self._of.setdefault(resource, []).append(keeper)
        self._tasks: dict[tuple[int, str, str], asyncio.Task[None]] = {}
        self._again: set[tuple[int, str, str]] = set()
        self._pauses: dict[tuple[int, str, str], _Pause] = {}
        self._turns = turns()
        self._swept: dict[int, int] = {}
        self._stopped = False

    async def stop(self) -> None:
        self._stopped = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def committed(self, tenant: int, events: Sequence[Event]) -> None:
        """An Observer of this process's commits."""
        for event in events:
            keepers = self._of.get(event.record.key.group_resource, ())
            for keeper in (*keepers, *self._everywhere):
                if (concerned := keeper.concerned(event)) is not None:
                    self._later(tenant, keeper, *concerned)

    async def at_once(self, tenant: Tenant, controller: str, name: str) -> None:
        """A look that the caller waits for. Raises as `Keeper.look`."""
        if controller in await self._turned_off(tenant.id):
            return
        for keeper in self._keepers:
            if keeper.controller == controller:
                await keeper.look(tenant, name)

    def used(self, tenants: Collection[int]) -> None:
        """Requests for these tenants have come."""
        for tenant in tenants:
            for keeper in self._at_use:
                for name in keeper.used(tenant):
                    self._later(tenant, keeper, name, 0.0)

    def enqueue(self, controller: str, tenant: int, name: str) -> None:
        """Has the keeper of that name look at ``name`` as soon as its turn comes."""
        for keeper in self._keepers:
            if keeper.controller == controller and not self._stopped:
                self._later(tenant, keeper, name, 0.0)

    async def sweep(self, heads: Sequence[tuple[int, int]]) -> None:
        """heads: (tenant, its last resourceVersion) of all tenants."""
        before, self._swept = self._swept, dict(heads)
        for tenant, head in heads:
            if before.get(tenant) == head:
                continue
            for keeper in self._keepers:
                for name in await keeper.missed(tenant):
                    self._later(tenant, keeper, name, 0.0)

    def _later(self, tenant: int, keeper: Keeper, name: str, delay: float) -> None:
        """One look at a time for each name; what happens during it is looked at afterwards, and
        what happens while a later look is waited for brings it forward."""
        which = (tenant, keeper.controller, name)
        if which in self._tasks:
            self._again.add(which)
            if (pause := self._pauses.get(which)) is not None:
                pause.shorten(delay)
            return
        self._tasks[which] = asyncio.create_task(self._run(tenant, keeper, name, delay))

    async def _run(self, tenant: int, keeper: Keeper, name: str, delay: float) -> None:
        """Nothing is awaited between the end of the rounds and the removal from `_tasks`: no event
        is noted for a task that has ended already."""
        which = (tenant, keeper.controller, name)
        try:
            await self._rounds(tenant, keeper, name, delay)
        finally:
            self._tasks.pop(which, None)
            self._again.discard(which)

    async def _rounds(self, tenant: int, keeper: Keeper, name: str, delay: float) -> None:
        which, failures = (tenant, keeper.controller, name), 0
        pause: float | None = delay
        succeeded = True
        while pause is not None and failures < ATTEMPTS and not self._stopped:
            await (self._pause(which, pause) if succeeded else asyncio.sleep(pause))
            self._again.discard(which)
            async with self._turns.of(tenant):
                succeeded, pause = await self._once(tenant, keeper, name)
            if not succeeded:
                pause, failures = min(FIRST * 2**failures, LONGEST), failures + 1
            elif which in self._again:
                pause = FIRST if pause is None else min(pause, FIRST)

    async def _pause(self, which: tuple[int, str, str], seconds: float) -> None:
        pause = self._pauses[which] = _Pause(seconds)
        try:
            await pause.over()
        finally:
            del self._pauses[which]

    async def _once(self, number: int, keeper: Keeper, name: str) -> tuple[bool, float | None]:
        """(whether it went well, seconds until the next look)."""
        try:
            tenant = await self._tenant_of(number)
            if tenant is None or keeper.controller in await self._turned_off(number):
                return True, None
            return True, await keeper.look(tenant, name)
        except (ApiError, StorageError) as e:
            log.info("%s: %s waits: %s", keeper.controller, name, e)
        except Exception:
            log.exception("%s: %s", keeper.controller, name)
        return False, None
