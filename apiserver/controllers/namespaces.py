"""Namespace deletion: everything in a terminating namespace is deleted, then the finalizer "kubernetes" is taken off its spec.

Source: "Namespaces" in the Kubernetes API concepts, kubernetes ``pkg/controller/namespace/deletion``.
"""

from __future__ import annotations

import logging

from admission.attributes import Object
from apiserver.controllers.actions import Actions
from apiserver.errors import ApiError
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.relations import Found, Relations

log = logging.getLogger("polyplane.controllers")

FINALIZER = "kubernetes"


async def finish(actions: Actions, relations: Relations, tenant: Tenant, key: ObjectKey) -> bool:
    """One pass over a terminating namespace. False: something is still there, come again."""
    namespace = await actions.get(tenant, key)
    if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
        return True
    if FINALIZER not in namespace.get("spec", {}).get("finalizers", ()):
        return True
    while found := await relations.in_namespace(tenant.id, key.name):
        gone = [await _delete(actions, tenant, one) for one in found]
        if not any(gone):
            return False  # all that is left waits for finalizers or grace, or may not be deleted

    def edit(obj: Object) -> bool:
        finalizers = [f for f in obj.get("spec", {}).get("finalizers", ()) if f != FINALIZER]
        obj["spec"] = {"finalizers": finalizers} if finalizers else {}
        return True

    await actions.change(tenant, key, edit, "finalize")
    return True


async def _delete(actions: Actions, tenant: Tenant, found: Found) -> bool:
    """Whether it is gone. One object that may not be deleted keeps none of the others."""
    try:
        return await actions.delete(tenant, found.key, found.uid)
    except ApiError as e:
        log.info("%s/%s stays in a terminating namespace: %s", found.key.resource, found.key.name, e)
        return False
