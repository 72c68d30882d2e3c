"""PersistentVolumeClaimResize: claims grow where their storage class lets them (kubernetes
``plugin/pkg/admission/storage/persistentvolume/resize``)."""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import UPDATE, OfObjects
from admission.refusal import forbidden
from apiserver.kinds.core.volume_cells import storage_class
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity, parse_quantity

CLAIMS = GroupResource("", "persistentvolumeclaims")
CLASSES = GroupResource("storage.k8s.io", "storageclasses")


class PersistentVolumeClaimResize(OfObjects):
    name = "PersistentVolumeClaimResize"
    resources = frozenset({CLAIMS})
    operations = UPDATE

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        new, old = attributes.object, attributes.old
        if new is None or old is None or _size(new) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            why = "Only bound persistent volume claims can be expanded"
            raise forbidden(attributes, why)
        if not await self._may_grow(new, old, lookup):
            why = (
                "only dynamically provisioned pvc can be resized and the storageclass that "
                "provisions the pvc must support resize"
            )
            raise forbidden(attributes, why)

    async def _may_grow(self, new: Object, old: Object, lookup: Lookup) -> bool:
        name = storage_class(new)
        if not name or name != storage_class(old):
            return False
        found = await lookup.get(CLASSES, "", name)
        return found is not None and bool(found.get("allowVolumeExpansion"))


def _size(claim: Object) -> Quantity:
    resources = (claim.get("spec") or {}).get("resources") or {}
    return parse_quantity((resources.get("requests") or {}).get("storage", "0"))
