"""The condition Dangling of FlowSchemas: whether the priority level that they name is there
(k8s.io/apiserver ``util/flowcontrol``, apf_controller.go)."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.controllers.upkeep import Unchanged
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time, now
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

SCHEMAS = GroupResource("flowcontrol.apiserver.k8s.io", "flowschemas")
LEVELS = GroupResource("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations")
MANAGER = "api-priority-and-fairness-config-consumer-v1"
SETTLE = 1.0
_LEVEL = "level/"
_MOST = 1000


class DanglingSchemas:
    """Looks at FlowSchemas by their name, and at all of a level by the level's. Upstream it belongs
    to the API server."""

    controller = names.FLOW_SCHEMAS
    resources = frozenset({SCHEMAS, LEVELS})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions = actions
        self._unchanged = [Unchanged(relations, resource) for resource in (SCHEMAS, LEVELS)]

    def concerned(self, event: Event) -> tuple[str, float] | None:
        key = event.record.key
        if key.group_resource == LEVELS:
            return None if event.type == "MODIFIED" else (_LEVEL + key.name, SETTLE)
        return None if event.type == "DELETED" else (key.name, SETTLE)

    async def look(self, tenant: Tenant, name: str) -> float | None:
        if name.startswith(_LEVEL):
            level = name.removeprefix(_LEVEL)
            cache = await self._actions.registry.watches.fresh(tenant.id, SCHEMAS)
            for schema in cache.select().shared:
                if level_of(schema) == level:
                    await self._settle(tenant, schema["metadata"]["name"])
        else:
            await self._settle(tenant, name)
        return None

    async def _settle(self, tenant: Tenant, name: str) -> None:
        key = ObjectKey(*SCHEMAS, "", name)
        schema = await self._actions.get(tenant, key)
        if schema is None:
            return
        level = ObjectKey(*LEVELS, "", level_of(schema))
        exists = await self._actions.registry.store.get(tenant.id, level) is not None
        if (condition := changed(schema, exists)) is not None:
            await self._actions.apply_status(tenant, key, {"conditions": [condition]}, MANAGER)

    async def missed(self, tenant: int) -> Sequence[str]:
        if all([await unchanged.since_last(tenant) for unchanged in self._unchanged]):
            return []
        levels = {record.key.name async for record in self._actions.each(tenant, LEVELS)}
        due = []
        async for record in self._actions.each(tenant, SCHEMAS):
            schema = orjson.loads(record.data)
            if changed(schema, level_of(schema) in levels) is not None:
                due.append(record.key.name)
                if len(due) == _MOST:
                    break
        return due


def level_of(schema: Object) -> str:
    reference = (schema.get("spec") or {}).get("priorityLevelConfiguration") or {}
    return str(reference.get("name") or "")


def changed(schema: Object, exists: bool) -> Object | None:
    """The condition that the schema is to have; None where it has it."""
    text = "This FlowSchema references the PriorityLevelConfiguration object named "
    text += go_quote(level_of(schema))
    desired = {
        "type": "Dangling",
        "status": "False" if exists else "True",
        "reason": "Found" if exists else "NotFound",
        "message": f"{text} and it exists" if exists else f"{text} but there is no such object",
    }
    for condition in (schema.get("status") or {}).get("conditions") or ():
        if all(condition.get(member) == value for member, value in desired.items()):
            return None
    return {**desired, "lastTransitionTime": format_time(now())}
