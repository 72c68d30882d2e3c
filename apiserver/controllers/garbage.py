"""Garbage collection: dependents follow their owners, in the way that the deletion asked for.

Source: "Garbage Collection" and "Owners and dependents" in the Kubernetes documentation, kubernetes ``pkg/controller/garbagecollector``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from admission.attributes import Object
from apiserver.controllers.actions import Actions
from apiserver.errors import ApiError
from apiserver.kinds.common.objectmeta import FOREGROUND, ORPHAN
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.relations import Found, Relations

log = logging.getLogger("polyplane.controllers")


class GarbageCollector:
    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations

    async def owners_gone(self, tenant: Tenant, uids: Collection[str]) -> bool:
        """The objects ``uids`` are gone: dependents without another living owner go too, others lose the reference. False: come again;
        one that may not be deleted keeps no other."""
        done = True
        for dependent in await self._relations.dependents(tenant.id, *uids):
            try:
                await self.collect(tenant, dependent)
            except ApiError as e:
                log.info("garbage %s/%s waits: %s", dependent.key.resource, dependent.key.name, e)
                done = False
        return done

    async def collect(self, tenant: Tenant, dependent: Found) -> None:
        """Deletes an object none of whose owners exist; takes dangling references off one that still has an owner."""
        obj = await self._actions.get(tenant, dependent.key)
        if obj is None or obj["metadata"].get("uid") != dependent.uid:
            return
        owners = obj["metadata"].get("ownerReferences") or []
        if not owners:
            return  # they were taken off since the question was asked
        living = await self._relations.existing(tenant.id, [o["uid"] for o in owners if _is_uuid(o.get("uid", ""))])
        if not any(o["uid"] in living for o in owners):
            await self._actions.delete(tenant, dependent.key, dependent.uid, resource_version=obj["metadata"]["resourceVersion"])
        else:
            gone = {o["uid"] for o in owners} - living
            await self._actions.change(tenant, dependent.key, lambda o: _drop_owners(o, gone))

    async def marked(self, tenant: Tenant, key: ObjectKey) -> bool:
        """One pass over an object that waits with a collector's finalizer. False: come again."""
        obj = await self._actions.get(tenant, key)
        finalizers = obj["metadata"].get("finalizers") or () if obj is not None else ()
        if obj is None or not obj["metadata"].get("deletionTimestamp"):
            return True
        uid = obj["metadata"]["uid"]
        if ORPHAN in finalizers:
            for dependent in await self._relations.dependents(tenant.id, uid):
                await self._actions.change(tenant, dependent.key, lambda o: _drop_owners(o, {uid}))
            await self._actions.change(tenant, key, lambda o: _drop_finalizer(o, ORPHAN))
        elif FOREGROUND in finalizers:
            if await self._blocking(tenant, uid):
                return False
            await self._actions.change(tenant, key, lambda o: _drop_finalizer(o, FOREGROUND))
        return True

    async def _blocking(self, tenant: Tenant, uid: str) -> bool:
        """Deletes the dependents, in the foreground too; whether one that blocks its owner's deletion is left."""
        blocking = False
        for dependent in await self._relations.dependents(tenant.id, uid):
            obj = await self._actions.get(tenant, dependent.key)
            if obj is None:
                continue
            if not obj["metadata"].get("deletionTimestamp") and await self._actions.delete(
                tenant, dependent.key, dependent.uid, "Foreground"
            ):
                continue
            owners = obj["metadata"].get("ownerReferences") or ()
            blocking = blocking or any(o.get("blockOwnerDeletion") for o in owners if o.get("uid") == uid)
        return blocking


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and all(c in "0123456789abcdef-" for c in text.lower())


def _drop_owners(obj: Object, uids: set[str]) -> bool:
    owners = obj["metadata"].get("ownerReferences") or []
    kept = [o for o in owners if o.get("uid") not in uids]
    if kept:
        obj["metadata"]["ownerReferences"] = kept
    else:
        obj["metadata"].pop("ownerReferences", None)
    return len(kept) != len(owners)


def _drop_finalizer(obj: Object, name: str) -> bool:
    finalizers = obj["metadata"].get("finalizers") or []
    kept = [f for f in finalizers if f != name]
    if kept:
        obj["metadata"]["finalizers"] = kept
    else:
        obj["metadata"].pop("finalizers", None)
    return len(kept) != len(finalizers)
