"""The status of PodDisruptionBudgets, on which evictions rest (kubernetes
``pkg/controller/disruption``).

The budgets of a namespace are looked at together, for the pods are read once. A status rests on the
budget as it was before its pods were read, and is not written over another one: an eviction that
was paid for meanwhile stays paid for.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.disruptionstatus import (
    DELETION,
    Pod,
    SyncFailed,
    asks_scales,
    differ,
    expected,
    failed,
    seconds_until_stale,
    selected,
    settled,
)
from apiserver.controllers.podscales import PodScales
from apiserver.controllers.upkeep import Due, Rest, Unchanged
from apiserver.errors import ApiError, Conflict
from apiserver.golang.strconv import go_quote
from apiserver.kinds.core import podconditions
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey, Record
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
_LEAST = 0.05
_HOUR = 3600.0
_DISRUPTED = b'"disruptedPods":{"'
_TARGET = b'"DisruptionTarget"'
_MOST = 1000
_KNOWN = 10_000
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
        """No pause for the pods that are yet to be deleted: it would keep this look from the events
        that come meanwhile (`LateDisruptions`)."""
        if (rest := self._rest.left(tenant.id, name)) > 0:
            return rest
        began = time.monotonic()
        _, conflict = await self.settle(tenant, name)
        self._rest.after(tenant.id, name, began)
        return AGAIN if conflict else None

    async def settle(self, tenant: Tenant, namespace: str) -> tuple[float | None, bool]:
        """The seconds until one of the budgets will have another status, should nothing happen
        before; whether one has changed meanwhile. Raises what the last refusal was, when all have
        had their turn."""
        budgets = [record async for record in self._actions.each(tenant.id, BUDGETS, namespace)]
        if not budgets:
            return None, False
        pods = [
            Pod.of(orjson.loads(record.data))
            async for record in self._actions.each(tenant.id, PODS, namespace)
        ]
        scales = PodScales(self._actions, tenant, namespace)
        waits, conflict = list[float](), False
        refused: ApiError | None = None
        for record in budgets:
            await asyncio.sleep(0)  # selecting among many pods takes its time
            try:
                if (wait := await self._one(tenant, record, pods, scales)) is not None:
                    waits.append(wait)
            except Conflict:
                conflict = True
            except ApiError as e:  # the others have their turn
                refused = e
        if refused is not None:
            raise refused
        return min(waits, default=None), conflict

    async def _one(
        self, tenant: Tenant, record: Record, pods: Sequence[Pod], scales: PodScales
    ) -> float | None:
        budget = orjson.loads(record.data)
        try:
            chosen = selected(budget, pods)
            count = len(chosen)
            if asks_scales(budget["spec"]):
                count = await _scale_of(chosen, scales)
            wanted = expected(budget["spec"], count)
            status, wait = settled(budget, chosen, wanted, now())
            await self._write(tenant, record, budget, status)
        except Conflict:
            raise
        except (SyncFailed, ApiError) as e:
            await self._write(tenant, record, budget, failed(budget, str(e), now()))
            return None
        return wait

    async def _write(self, tenant: Tenant, record: Record, budget: Object, status: Object) -> None:
        """Raises Conflict where the budget is not any more what was judged."""
        if not differ(status, budget.get("status") or {}):
            return

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

    async def missed(self, tenant: int) -> Sequence[str]:
        """All that have budgets, once anything has changed: nobody knows which pods a dead process
        left uncounted."""
        if all([await unchanged.since_last(tenant) for unchanged in self._unchanged]):
            return []
        return await self._relations.namespaces_with(tenant, BUDGETS)


class LateDisruptions:
    """Looks at what should have been deleted by now: at the budgets of a namespace that note such
    pods (``namespace/``), and at pods that say so of themselves (``namespace/name``)."""

    controller = names.DISRUPTION
    resources = frozenset({BUDGETS, PODS})

    def __init__(self, actions: Actions, relations: Relations, budgets: DisruptionBudgets) -> None:
        self._actions, self._budgets = actions, budgets
        self._unchanged, self._due = Unchanged(relations, BUDGETS), Due(_HOUR)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key, data = event.record.key, event.record.data
        if event.type == "DELETED":
            return None
        if key.group_resource == BUDGETS:
            late = DELETION.total_seconds() + _LEAST
            return (f"{key.namespace}/", late) if _DISRUPTED in data else None
        left = seconds_until_stale(orjson.loads(data), now()) if _TARGET in data else None
        return None if left is None else (f"{key.namespace}/{key.name}", max(left, _LEAST))

    async def look(self, tenant: Tenant, name: str) -> float | None:
        namespace, _, pod = name.partition("/")
        if pod:
            return await self._pod(tenant, ObjectKey(*PODS, namespace, pod))
        wait, conflict = await self._budgets.settle(tenant, namespace)
        if conflict:
            return AGAIN
        return None if wait is None else wait + _LEAST

    async def _pod(self, tenant: Tenant, key: ObjectKey) -> float | None:
        """Has the pod say that it stays, where it is time."""
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
        late = set[str]()
        if not await self._unchanged.since_last(tenant):
            async for record in self._actions.each(tenant, BUDGETS):
                if _DISRUPTED in record.data:
                    late.add(f"{record.key.namespace}/")
        if self._due.now(tenant):
            async for record in self._actions.each(tenant, PODS):
                if len(late) >= _MOST:
                    break
                if _TARGET in record.data:
                    late.add(f"{record.key.namespace}/{record.key.name}")
        return [*late]


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
