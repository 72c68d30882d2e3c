"""Table cells that PersistentVolumes and PersistentVolumeClaims share (kubernetes
``pkg/apis/core/helper``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.meta.objects import ReadOnlyObject

_SHORT = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def modes_cell(modes: Sequence[str]) -> str:
    """``RWO,ROX``: each mode once, in this order whatever order they came in."""
    return ",".join(short for mode, short in _SHORT.items() if mode in modes)


def storage_class(obj: ReadOnlyObject) -> str:
    """The class by the old annotation, else by the field."""
    annotations = obj["metadata"].get("annotations") or {}
    return str(
        annotations.get(CLASS_ANNOTATION, (obj.get("spec") or {}).get("storageClassName") or "")
    )
