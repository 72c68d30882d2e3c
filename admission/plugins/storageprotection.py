"""StorageObjectInUseProtection: volumes and claims are held by a finalizer until nobody uses
them."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import OfObjects
from apiserver.meta.gvk import GroupResource

FINALIZERS = {
    GroupResource("", "persistentvolumes"): "kubernetes.io/pv-protection",
    GroupResource("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    GroupResource("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(OfObjects):
    name = "StorageObjectInUseProtection"
    resources = FINALIZERS

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        if attributes.object is None:
            return
        finalizers = attributes.object["metadata"].setdefault("finalizers", [])
        finalizer = FINALIZERS[attributes.group_resource]
        if finalizer not in finalizers:
            finalizers.append(finalizer)
