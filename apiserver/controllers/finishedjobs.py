"""Jobs that are finished go after spec.ttlSecondsAfterFinished (kubernetes
``pkg/controller/ttlafterfinished``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions, Item
from apiserver.controllers.upkeep import Unchanged
from apiserver.errors import Conflict
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import now, parse_time
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

JOBS = GroupResource("batch", "jobs")
_FINISHED = frozenset({"Complete", "Failed"})
_MOST = 1000


class FinishedJobs:
    """Looks at jobs by namespace and name."""

    controller = names.FINISHED
    resources = frozenset({JOBS})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, JOBS)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        if event.type == "DELETED" or b'"ttlSecondsAfterFinished":' not in event.record.data:
            return None
        left = _seconds_left(orjson.loads(event.record.data))
        key = event.record.key
        return None if left is None else (f"{key.namespace}/{key.name}", max(left, 0.0))

    async def look(self, tenant: Tenant, name: str) -> float | None:
        namespace, _, job_name = name.partition("/")
        key = ObjectKey(*JOBS, namespace, job_name)
        job = await self._actions.get(tenant, key)
        left = None if job is None else _seconds_left(job)
        if job is None or left is None or left > 0:
            return left
        metadata = job["metadata"]
        item = Item(key, metadata["uid"], int(metadata["resourceVersion"]), metadata)
        try:
            await self._actions.delete_judged(
                tenant, item, "Foreground", "ttlSecondsAfterFinished is over"
            )
        except Conflict:
            return 0.0  # it has changed, and may live longer now
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        if await self._unchanged.since_last(tenant):
            return []
        due = []
        async for record in self._actions.each(tenant, JOBS):
            if (
                b'"ttlSecondsAfterFinished":' in record.data
                and _seconds_left(orjson.loads(record.data)) is not None
            ):
                due.append(f"{record.key.namespace}/{record.key.name}")
                if len(due) == _MOST:
                    break
        return due


def _seconds_left(job: Object) -> float | None:
    """Until the job may go; None where it stays."""
    ttl = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    if ttl is None or job["metadata"].get("deletionTimestamp"):
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in _FINISHED and condition.get("status") == "True":
            finished = condition.get("lastTransitionTime")
            if finished is None:
                return None
            return (parse_time(finished) + timedelta(seconds=ttl) - now()).total_seconds()
    return None
