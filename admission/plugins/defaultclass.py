"""DefaultStorageClass and DefaultIngressClass: a claim or an ingress that names no class gets the
class that is marked as default. Of several the newest counts, of those that came in the same second
the first by name.

Sources: kubernetes ``plugin/pkg/admission/storage/storageclass/setdefault``,
``plugin/pkg/admission/network/defaultingressclass``.
"""

from __future__ import annotations

from admission.attributes import Attributes, Lookup
from admission.objects import OfObjects
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object

CLAIMS, STORAGE_CLASSES = (
    GroupResource("", "persistentvolumeclaims"),
    GroupResource("storage.k8s.io", "storageclasses"),
)
INGRESSES, INGRESS_CLASSES = (
    GroupResource("networking.k8s.io", "ingresses"),
    GroupResource("networking.k8s.io", "ingressclasses"),
)
_STORAGE_DEFAULT = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_INGRESS_DEFAULT = ("ingressclass.kubernetes.io/is-default-class",)


def _defaults(classes: list[Object], annotations: tuple[str, ...]) -> list[Object]:
    """Classes marked as default, the newest first, then by name."""
    defaults = [
        c
        for c in classes
        if any((c["metadata"].get("annotations") or {}).get(a) == "true" for a in annotations)
    ]
    defaults.sort(key=lambda c: str(c["metadata"]["name"]))
    defaults.sort(key=lambda c: str(c["metadata"].get("creationTimestamp", "")), reverse=True)
    return defaults


class DefaultStorageClass(OfObjects):
    name = "DefaultStorageClass"
    resources = frozenset({CLAIMS})

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        if attributes.object is None:
            return
        claim, spec = attributes.object, attributes.object.setdefault("spec", {})
        annotated = "volume.beta.kubernetes.io/storage-class" in (
            claim["metadata"].get("annotations") or {}
        )
        if spec.get("storageClassName") is not None or annotated:
            return
        defaults = _defaults(list(await lookup.list(STORAGE_CLASSES)), _STORAGE_DEFAULT)
        if defaults:
            spec["storageClassName"] = defaults[0]["metadata"]["name"]


class DefaultIngressClass(OfObjects):
    name = "DefaultIngressClass"
    resources = frozenset({INGRESSES})

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        if attributes.object is None:
            return
        ingress, spec = attributes.object, attributes.object.setdefault("spec", {})
        annotated = "kubernetes.io/ingress.class" in (ingress["metadata"].get("annotations") or {})
        if spec.get("ingressClassName") is not None or annotated:
            return
        defaults = _defaults(list(await lookup.list(INGRESS_CLASSES)), _INGRESS_DEFAULT)
        if defaults:
            spec["ingressClassName"] = defaults[0]["metadata"]["name"]
