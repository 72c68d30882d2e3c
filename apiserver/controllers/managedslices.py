"""The EndpointSlices of a namespace that a controller manages, and how it writes them: what the
controllers of Services and of Endpoints have in common."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from apiserver.controllers.actions import Actions, Item
from apiserver.controllers.ownservice import SLICES
from apiserver.controllers.slicing import MANAGED_BY, SERVICE_NAME
from apiserver.errors import Conflict
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey


class Managed(NamedTuple):
    """of: the controller's slices, by the names of their Services; taken: the names of all."""

    of: dict[str, list[Object]]
    taken: set[str]


async def managed(actions: Actions, tenant: Tenant, namespace: str, controller: str) -> Managed:
    found, taken = dict[str, list[Object]](), set[str]()
    async for record in actions.each(tenant.id, SLICES, namespace):
        taken.add(record.key.name)
        if controller.encode() in record.data:
            slice_ = orjson.loads(record.data)
            slice_["metadata"]["resourceVersion"] = str(record.resource_version)
            if is_managed(slice_, controller):
                of = slice_["metadata"]["labels"].get(SERVICE_NAME, "")
                found.setdefault(of, []).append(slice_)
    return Managed(found, taken)


def is_managed(slice_: ReadOnlyObject, controller: str) -> bool:
    labels = slice_["metadata"].get("labels") or {}
    deleting = slice_["metadata"].get("deletionTimestamp")
    return labels.get(MANAGED_BY) == controller and not deleting


async def create(actions: Actions, tenant: Tenant, obj: Object) -> bool:
    """False where somebody else has made one of that name meanwhile."""
    key = key_of(obj["metadata"])
    if await actions.ensure(tenant, key, obj):
        return True
    return await actions.get(tenant, key) is None  # it may not be


async def delete(actions: Actions, tenant: Tenant, slice_: ReadOnlyObject) -> None:
    metadata = slice_["metadata"]
    version = int(metadata["resourceVersion"])
    item = Item(key_of(metadata), metadata["uid"], version, dict(metadata))
    try:
        await actions.delete_judged(tenant, item, "Background")
    except Conflict:
        return  # it is another one now, and its writer looks


def key_of(metadata: ReadOnlyObject) -> ObjectKey:
    return ObjectKey(*SLICES, metadata["namespace"], metadata["name"])
