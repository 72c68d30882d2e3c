"""The workers' event loop: uvloop's, whose time tenants share.

What is to be done for a tenant (`apiserver.whose`) waits in the tenant's queue, and tenants take
turns by the time that they have had (`apiserver.flow.rotation`); so a tenant's request waits for a
step or two of its neighbours' requests, however many of these there are. All that is done for
nobody in particular - reading sockets, the database's answers, timers, what all tenants share - is
not put off. After `SLICE` of the tenants' work the loop looks again at what has come meanwhile.
Large bodies and answers, whose bytes the loop moves for nobody in particular, are asked for at a
pace (`MOST_BYTES`).

A tenant that has had the loop to itself for a while (`LATELY` after the last of another's requests)
is served by uvloop as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from math import inf
from time import perf_counter
from typing import TypeVarTuple

import uvloop

from apiserver.flow.rotation import Rotation
from apiserver.whose import NOBODY, WHOSE

_Args = TypeVarTuple("_Args")

SLICE = 0.0005
"""Seconds."""
LATELY = 5.0
AT_ONCE = 4
"""Requests that begin in one round of the loop without waiting for a turn, while those before them
have not taken a `SLICE`: four validations by CEL did 5 ms at once."""
MOST_BYTES = 64 * 1024 * 1024
"""Of large bodies and answers, which one tenant may move in a second while tenants share the loop.
To encrypt, decrypt and copy so many takes a tenth of the second; without a bound a neighbour's
request, which goes through some fifteen rounds of the loop, waited for 256 KiB in each of them."""
SAVED_BYTES = 2 * 1024 * 1024
"""Which who has moved none lately moves at once."""
_PACES = 1000
PUT_OFF = 8
"""Rounds of the loop, for which tenants' turns wait while what is done for nobody in particular
leads on: the database's answer goes through some five callbacks, one a round, before it reaches
who asked, and a step of somebody else's request between each two would be waited for five times."""


class FairLoop(uvloop.Loop):
    """Takes the place of uvloop's for `uvicorn.Config`."""

    def __init__(self) -> None:
        super().__init__()
        self._rotation: Rotation[int, asyncio.Handle] = Rotation()
        self._at_once = super().call_soon
        self._latest, self._changed = 0, 0.0
        self._pumping = False
        self._begun, self._until = 0, 0.0
        """Requests that have begun in this round at once; until when more may."""
        self._leads_on = False
        """Something has come to be done for nobody in particular since the last round."""
        self._put_off = 0
        self._end = 0.0
        """When the round of turns that is under way is over."""
        self._waiting: list[asyncio.Future[None]] = []
        """For the end of the round of turns that is to come."""
        self._paces: dict[int, float] = {}
        """By tenants, when what they have moved is made up for."""
        self._alone = True
        """Nobody has to be kept from anybody."""
        self._be_alone()

    def call_soon(
        self,
        callback: Callable[[*_Args], object],
        *args: *_Args,
        context: Context | None = None,
    ) -> asyncio.Handle:
        if context is None or not (tenant := context.get(WHOSE, 0)):
            self._leads_on = True
            return self._at_once(callback, *args, context=context)
        step = asyncio.Handle(callback, args, self, context)
        self._rotation.add(tenant, step)
        if not self._pumping:
            self._pump_soon()
        return step

    def meet(self, tenant: int) -> bool:
        """A request of the tenant has come; whether it has to wait for the tenant's turn."""
        if tenant != self._latest and -tenant != self._latest:
            self._latest, self._changed = abs(tenant), perf_counter()
            if self._alone:
                self._alone = False
                del self.__dict__["call_soon"]
        return not self._alone and self.holds_up()

    def holds_up(self) -> bool:
        """Whether work that is about to begin for a tenant has to wait for the tenant's turn: asks
        who would go on otherwise."""
        if self._alone:
            return False
        if self._rotation:
            return True
        now = perf_counter()
        if not self._begun:
            self._until = now + SLICE
        self._begun += 1
        if not self._pumping:
            self._pump_soon()
        return self._begun > AT_ONCE or now > self._until

    def is_shared(self) -> bool:
        """Whether several tenants have had something to do lately."""
        return not self._alone

    def is_behind(self, tenant: int) -> bool:
        """Whether somebody waits for a turn of the tenant."""
        return tenant in self._rotation or -tenant in self._rotation

    def ends_round(self) -> None:
        """The step that is being done is the last of this round of turns: it makes the loop move
        many bytes, which is done for nobody in particular and takes as long as many steps."""
        if not self._alone:
            self._end = 0.0

    def pause_before(self, tenant: int, size: int) -> float:
        """For how many seconds the tenant waits before it moves so many bytes; they count now."""
        if self._alone or tenant == NOBODY:
            return 0.0
        now = perf_counter()
        if len(self._paces) > _PACES:
            self._paces = {t: at for t, at in self._paces.items() if at > now}
        begins = max(self._paces.get(abs(tenant), 0.0), now)
        self._paces[abs(tenant)] = begins + size / MOST_BYTES
        return max(begins - now - SAVED_BYTES / MOST_BYTES, 0.0)

    async def turns_end(self) -> None:
        """Returns when the tenants have had their next round of turns: there must be one to
        come."""
        future = self.create_future()
        self._waiting.append(future)
        await future

    def _be_alone(self) -> None:
        """uvloop's own method stands before this class's."""
        self._alone = True
        self.__dict__["call_soon"] = self._at_once

    def _pump_soon(self) -> None:
        self._pumping = True
        self._at_once(self._pump)

    def _pump(self) -> None:
        if self._leads_on and self._put_off < PUT_OFF:
            self._leads_on = False
            self._put_off += 1
            self._pump_soon()
            return
        self._pumping, self._begun, self._put_off = False, 0, 0
        rotation, began = self._rotation, perf_counter()
        self._end = began + SLICE
        if not self._alone and began - self._changed > LATELY:
            # what comes from now on goes straight to the loop, behind what this round does
            self._be_alone()
            self._end = inf
        while rotation and began < self._end:
            tenant, step = rotation.next()
            try:
                if not step.cancelled():
                    step._run()
            finally:  # also when it raises what ends the process
                now = perf_counter()
                rotation.spent(tenant, now - began)
                began = now
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()
        if rotation and not self._pumping:
            self._pump_soon()
