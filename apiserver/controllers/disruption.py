"""The status of PodDisruptionBudgets, on which evictions rest (kubernetes
``pkg/controller/disruption``).

The budgets of a namespace are looked at together, for the pods are read once. A status rests on the
budget as it was before its pods were read, and is not written over another one: an eviction that
was paid for meanwhile stays paid for.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import orjson

from apiserver.controllers import disruptionevents, names
from apiserver.controllers.actions import Actions
from apiserver.controllers.correlation import Regarding, Said
from apiserver.controllers.disruptionevents import uncountable, unreadable
from apiserver.controllers.disruptionstatus import (
    Pod,
    SyncFailed,
    asks_scales,
    differ,
    expected,
    failed,
    overdue,
    selected,
    settled,
)
from apiserver.controllers.podscales import PodScales
from apiserver.controllers.recorder import Recorder, regarding_of
from apiserver.controllers.refusals import each_its_turn
from apiserver.controllers.upkeep import Rest, Shown, Unchanged
from apiserver.errors import ApiError, Conflict
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, Record
from apiserver.storage.relations import Relations

BUDGETS = GroupResource("policy", "poddisruptionbudgets")
PODS = GroupResource("", "pods")
SETTLE = 0.5
"""Seconds from a change to the look at the budgets of its namespace: pods change together."""
AGAIN = 0.25
"""Seconds to the next look at a budget that has changed during this one."""
_SHARE, _CHEAP = 4, 0.25
"""A namespace that takes a second to count is left alone for so many; one that takes less than so
many seconds is not."""
_LATER = 0.05
"""Seconds after the time to which a pod counts as going, which has no fractions."""
_KNOWN = 10_000
_TOLD = 10
"""Pods of one budget that are told of at a time."""
_MAX_INT32 = 2**31 - 1


class DisruptionBudgets:
    """Looks at the budgets of a namespace by its name."""

    controller = names.DISRUPTION
    resources = frozenset({BUDGETS, PODS})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations
        self._unchanged = [Unchanged(relations, resource) for resource in (BUDGETS, PODS)]
        self._written: OrderedDict[str, Object] = OrderedDict()
        self._rest = Rest(_SHARE, _CHEAP)
        self._shown = Shown()
        self._recorder = Recorder(actions, disruptionevents.SOURCE)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if key.group_resource == BUDGETS and (event.type == "DELETED" or self._said(event.record)):
            return None
        return key.namespace, SETTLE

    def _said(self, record: Record) -> bool:
        """Whether the status is what this keeper has written, for the spec that is there."""
        written = self._written.get(record.uid)
        if written is None:
            return False
        budget = orjson.loads(record.data)
        status = budget.get("status") or {}
        current = status.get("observedGeneration", 0) == budget["metadata"].get("generation", 0)
        return current and not differ(status, written)

    async def look(self, tenant: Tenant, name: str) -> float | None:
        if not await self._known(tenant, name):
            return None
        return await self._rest.around(tenant.id, name, lambda: self.settle(tenant, name))

    async def _known(self, tenant: Tenant, namespace: str) -> bool:
        """Whether the namespace may have budgets. Pods always change, so the watch cache is asked,
        which may be a moment old: whoever makes a budget looks at it himself. What the database has
        shown is not asked about."""
        if self._shown.take(tenant.id, namespace):
            return True
        return bool(await self._actions.registry.lookup(tenant).list(BUDGETS, namespace))

    async def settle(self, tenant: Tenant, namespace: str) -> float | None:
        """The seconds until one of the budgets will have another status, should nothing happen
        before."""
        budgets = [record async for record in self._actions.each(tenant.id, BUDGETS, namespace)]
        if not budgets:
            return None
        pods = [
            Pod.of(orjson.loads(record.data))
            async for record in self._actions.each(tenant.id, PODS, namespace)
        ]
        scales = PodScales(self._actions, tenant, namespace)
        waits = list[float]()
        with each_its_turn() as turn:
            for record in budgets:
                await asyncio.sleep(0)  # selecting among many pods takes its time
                with turn():
                    if (wait := await self._one(tenant, record, pods, scales)) is not None:
                        waits.append(wait)
        return min(waits, default=None)

    async def _one(
        self, tenant: Tenant, record: Record, pods: Sequence[Pod], scales: PodScales
    ) -> float | None:
        budget = orjson.loads(record.data)
        moment = now()
        judged = await _judge(budget, pods, scales, moment)
        try:
            written = await self._write(tenant, record, budget, judged.status)
        except Conflict:
            return AGAIN
        except ApiError as e:
            await self._write(tenant, record, budget, failed(budget, str(e), moment))
            return None
        if written:
            self._tell(tenant, record, budget, judged)
        return None if judged.wait is None else judged.wait + _LATER

    def _tell(self, tenant: Tenant, record: Record, budget: Object, judged: Judged) -> None:
        """Only with a status that has changed: the same is not told at every look."""
        about = regarding_of("policy/v1", "PodDisruptionBudget", record)
        for said in judged.said:
            self._recorder.record(tenant, about, said)
        for pod in judged.kept[:_TOLD]:
            whom = Regarding("v1", "Pod", about.namespace, pod.name, pod.uid)
            self._recorder.record(tenant, whom, disruptionevents.kept(budget))

    async def _write(self, tenant: Tenant, record: Record, budget: Object, status: Object) -> bool:
        """Whether it was another one. Raises Conflict where the budget is not any more what was
        judged."""
        if not differ(status, budget.get("status") or {}):
            return False

        def edit(obj: Object) -> bool:
            if obj["metadata"]["resourceVersion"] != str(record.resource_version):
                raise Conflict(BUDGETS, record.key.name, "the budget has changed")
            obj["status"] = status
            return True

        self._written[record.uid] = status
        self._written.move_to_end(record.uid)
        if len(self._written) > _KNOWN:
            self._written.popitem(last=False)
        await self._actions.change(tenant, record.key, edit, "status")
        return True

    async def missed(self, tenant: int) -> Sequence[str]:
        """All that have budgets, once anything has changed: nobody knows which pods a dead process
        left uncounted."""
        if all([await unchanged.since_last(tenant) for unchanged in self._unchanged]):
            return []
        found = await self._relations.namespaces_with(tenant, BUDGETS)
        self._shown.add(tenant, found)
        return found


class Judged(NamedTuple):
    """wait: seconds until the status will be another one; said: of the budget; kept: pods to tell
    of that they stay."""

    status: Object
    wait: float | None
    said: Sequence[Said]
    kept: Sequence[Pod] = ()


async def _judge(
    budget: Object, pods: Sequence[Pod], scales: PodScales, moment: datetime
) -> Judged:
    """An error of a look-up is a reason why pods cannot be counted."""
    try:
        chosen = selected(budget, pods)
    except SyncFailed as e:
        return Judged(failed(budget, str(e), moment), None, [unreadable(str(e))])
    try:
        count = len(chosen)
        if asks_scales(budget["spec"]):
            count = await _scale_of(chosen, scales)
    except (SyncFailed, ApiError) as e:
        return Judged(failed(budget, str(e), moment), None, [uncountable(str(e))])
    wanted = expected(budget["spec"], count)
    status, wait = settled(budget, chosen, wanted, moment)
    said = [*disruptionevents.of_counted(budget, chosen)]
    return Judged(status, wait, said, overdue(budget, chosen, moment))


async def _scale_of(pods: Sequence[Pod], scales: PodScales) -> int:
    """Pods that nobody runs do not count."""
    found: dict[str, int] = {}
    for pod in pods:
        if pod.controller is None:
            continue
        scale = await scales.of(pod.controller)
        if scale is None:
            raise SyncFailed(f"found no controllers for pod {go_quote(pod.name)}")
        found[scale.uid] = scale.replicas
    return min(sum(found.values()), _MAX_INT32)
