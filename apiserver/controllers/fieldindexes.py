"""FieldIndexes: what a tenant has declared is what storage indexes, and the objects say how far
that is.

The index itself is made beside the log (`apiserver.search.fieldindexer`). A tenant has `MOST` of
them, the oldest; further ones say that they are too many.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import orjson

from apiserver.controllers import names
from apiserver.controllers.actions import Actions
from apiserver.kinds.common.metaconditions import condition, conditions_of
from apiserver.kinds.search.fieldindex import INDEXES, READY
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.storage.fields import Field
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

MOST = 32
"""Indexes of one tenant: each follows the tenant's log on its own."""
MANAGER = "field-index-controller"
SETTLE, AGAIN, UNKNOWN_AGAIN = 0.1, 1.0, 15.0
"""Seconds from a change to the look at it, and between looks at an index that is being made, or is
of a resource that the tenant does not serve (yet)."""

_STATES = {
    "Built": ("True", "The index is true of all objects; it follows writes within seconds"),
    "Building": ("False", "Objects that were there before are being indexed"),
    "UnknownResource": (
        "False",
        "The tenant serves no such resource: spec.resource is its plural name, spec.group its API "
        "group; the index is of use once there is one",
    ),
    "TooMany": ("False", f"A tenant has at most {MOST} indexes: the oldest are kept"),
}


class FieldIndexes:
    """Looks at them by their name; at none, where the last one is gone."""

    controller = names.FIELD_INDEXES
    resources = frozenset({INDEXES})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations
        self._fields = actions.registry.store.fields

    def concerned(self, event: Event) -> tuple[str, float] | None:
        return event.record.key.name, SETTLE

    async def look(self, tenant: Tenant, name: str) -> float | None:
        declared = await self._declared(tenant)
        built = await self._fields.declare(tenant.id, {f for f in declared.values() if f})
        left = await self._fields.forget(tenant.id)  # a little at a time: others wait for looks
        if name not in declared:
            return AGAIN if left else None
        reason = self._reason(tenant, declared[name], built)
        await self._say(tenant, name, reason)
        if left or reason == "Building":
            return AGAIN
        return UNKNOWN_AGAIN if reason == "UnknownResource" else None

    def _reason(self, tenant: Tenant, field: Field | None, built: Collection[Field]) -> str:
        if field is None:
            return "TooMany"
        if self._actions.registry.catalog.find(tenant, *field.resource) is None:
            return "UnknownResource"
        return "Built" if field in built else "Building"

    async def _declared(self, tenant: Tenant) -> dict[str, Field | None]:
        """By name; None for those that are too many."""
        objects = [
            orjson.loads(record.data) async for record in self._actions.each(tenant.id, INDEXES)
        ]
        objects.sort(key=lambda o: (o["metadata"]["creationTimestamp"], o["metadata"]["name"]))
        fields = dict.fromkeys(map(_field, objects))
        kept = set(list(fields)[:MOST])
        return {
            obj["metadata"]["name"]: field if (field := _field(obj)) in kept else None
            for obj in objects
        }

    async def _say(self, tenant: Tenant, name: str, reason: str) -> None:
        status, message = _STATES[reason]

        def edit(obj: Object) -> bool:
            present = next((x for x in conditions_of(obj) if x["type"] == READY), {})
            generation = obj["metadata"]["generation"]
            if (present.get("reason"), present.get("observedGeneration")) == (reason, generation):
                return False
            ready = condition(READY, status, reason, message, now())
            obj["status"] = {"conditions": [{**ready, "observedGeneration": generation}]}
            return True

        key = ObjectKey(*INDEXES, "", name)
        await self._actions.change(tenant, key, edit, "status", MANAGER)

    async def missed(self, tenant: int) -> Sequence[str]:
        present = await self._relations.names(tenant, INDEXES)
        if present:
            return present
        return [""] if await self._fields.indexes(tenant) else []


def _field(obj: Object) -> Field:
    spec = obj["spec"]
    return Field(GroupResource(spec.get("group", ""), spec["resource"]), spec["path"])
