"""Namespace deletion: everything in a terminating namespace is deleted, then the finalizer "kubernetes" is taken off its spec.

Source: "Namespaces" in the Kubernetes API concepts, kubernetes ``pkg/controller/namespace/deletion``.
"""

from __future__ import annotations

from admission.attributes import Object
from apiserver.controllers.actions import Actions
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.relations import Relations

FINALIZER = "kubernetes"


async def finish(actions: Actions, relations: Relations, tenant: Tenant, key: ObjectKey) -> bool:
    """One pass over a terminating namespace. False: something is still there, come again."""
    namespace = await actions.get(tenant, key)
    if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
        return True
    if FINALIZER not in namespace.get("spec", {}).get("finalizers", ()):
        return True
    while found := await relations.in_namespace(tenant.id, key.name):
        gone = [await actions.delete(tenant, one.key, one.uid) for one in found]
        if not any(gone):
            return False  # all that is left waits for finalizers or grace

    def edit(obj: Object) -> bool:
        finalizers = [f for f in obj.get("spec", {}).get("finalizers", ()) if f != FINALIZER]
        obj["spec"] = {"finalizers": finalizers} if finalizers else {}
        return True

    await actions.change(tenant, key, edit, "finalize")
    return True
