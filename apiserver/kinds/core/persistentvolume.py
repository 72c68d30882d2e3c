"""PersistentVolume. Its protection finalizer comes from admission (StorageObjectInUseProtection).

Sources: kubernetes ``pkg/apis/core`` (defaults, validation),
``pkg/registry/core/persistentvolume``, ``pkg/api/persistentvolume``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    forbidden,
    invalid,
)
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import nodelabels
from apiserver.kinds.common.alike import alike
from apiserver.kinds.common.amounts import round_up
from apiserver.kinds.common.internal import plain_part, quote
from apiserver.kinds.common.jsondiff import go_diff
from apiserver.kinds.common.poddefaults import default_sources
from apiserver.kinds.common.volumespec import volume_spec_errors
from apiserver.kinds.core.volume_cells import CLASS_ANNOTATION, modes_cell, storage_class
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.times import age, format_time

SPEC = FieldPath("spec")
_STABLE_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
_OPTIONS_ANNOTATION = "volume.beta.kubernetes.io/mount-options"
_SPEC_STRUCT = "core.v1.PersistentVolumeSpec"
_SOURCES = (
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "hostPath",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "flexVolume",
    "cinder",
    "cephfs",
    "fc",
    "flocker",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)
"""In the order of the internal type."""
_MOUNTED = frozenset(
    {
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    }
)
"""Sources whose volumes may have the annotation with mount options."""


@register("", "PersistentVolume")
class PersistentVolume(Kind):
    returns_deleted = True
    generation = False
    metadata_update = False
    metadata_again = 2
    metadata_of_parts = (True, 0)
    status = True

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        spec["persistentVolumeReclaimPolicy"] = (
            spec.get("persistentVolumeReclaimPolicy") or "Retain"
        )
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"
        default_sources(spec)
        round_up(spec.get("capacity"))
        status = obj.setdefault("status", {})
        status["phase"] = status.get("phase") or "Pending"

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": format_time(context.now)}

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_status_update(obj, old, context)
        status, before = obj.setdefault("status", {}), old.get("status") or {}
        moved = "lastPhaseTransitionTime"
        if status.get("phase") != before.get("phase"):
            if status.get(moved) in (None, before.get(moved)):
                status[moved] = format_time(context.now)
        elif status.get(moved) is None and before.get(moved) is not None:
            status[moved] = before[moved]

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(volume_spec_errors(obj["spec"], SPEC))

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_mount_options(obj))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """An update is validated as an object twice."""
        return [
            *_mount_options(obj),
            *self.validate(obj, context),
            *_changes(obj["spec"], old["spec"]),
        ]

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        return [] if context.subresource else _warnings(obj)

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec, status = obj["metadata"], obj.get("spec", {}), obj.get("status") or {}
        claim = spec.get("claimRef")
        return [
            metadata["name"],
            (spec.get("capacity") or {}).get("storage", "0"),
            modes_cell(spec.get("accessModes") or []),
            spec.get("persistentVolumeReclaimPolicy", ""),
            "Terminating" if metadata.get("deletionTimestamp") else status.get("phase", ""),
            f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else "",
            storage_class(obj),
            spec.get("volumeAttributesClassName") or "<unset>",
            status.get("reason", ""),
            age(metadata.get("creationTimestamp"), now),
            spec.get("volumeMode") or "<unset>",
        ]


def _mount_options(obj: Object) -> c.Errors:
    """kubernetes ``pkg/volume/validation/pv_validation.go``."""
    asked = _OPTIONS_ANNOTATION in (obj["metadata"].get("annotations") or {})
    if asked and not any(obj["spec"].get(source) is not None for source in _MOUNTED):
        path = FieldPath("metadata.annotations").child(_OPTIONS_ANNOTATION)
        yield forbidden(path, "may not specify mount options for this volume type")


def _changes(spec: Object, old: Object) -> c.Errors:
    def source(of: Object) -> Object:
        sources = {name: dict(of[name]) for name in _SOURCES if of.get(name) is not None}
        if "controllerExpandSecretRef" not in (old.get("csi") or {}):
            sources.get("csi", {}).pop("controllerExpandSecretRef", None)
        return sources

    if source(spec) != source(old):
        source_texts = [plain_part(_SPEC_STRUCT, source(s), _SOURCES) for s in (old, spec)]
        why = f"spec.persistentvolumesource is immutable after creation\n{go_diff(*source_texts)}"
        yield forbidden(SPEC.child("persistentvolumesource"), why)
    yield from c.immutable(spec.get("volumeMode"), old.get("volumeMode"), FieldPath("volumeMode"))
    if old.get("nodeAffinity") is not None and not _same_nodes(
        spec.get("nodeAffinity"), old["nodeAffinity"]
    ):
        yield invalid(
            FieldPath("nodeAffinity"),
            quote("core.v1.VolumeNodeAffinity", spec.get("nodeAffinity")),
            "field is immutable, except for updating from beta label to GA",
        )
    attributes = "volumeAttributesClassName"
    if old.get(attributes) is not None and spec.get(attributes) is None:
        yield forbidden(SPEC.child(attributes), "update from non-nil value to nil is forbidden")


def _same_nodes(new: Object | None, old: Object) -> bool:
    """But for labels that now have the names which they were given when they became stable."""
    renamed = copy_json(old)
    pairs = zip(_requirements(new or {}), _requirements(renamed), strict=False)
    for requirement, before in pairs:
        if _STABLE_LABELS.get(before.get("key", "")) == requirement.get("key"):
            before["key"] = requirement["key"]
    return alike("core.v1.VolumeNodeAffinity", new, renamed)


def _requirements(affinity: Object) -> list[Object]:
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms") or []
    fields = ("matchExpressions", "matchFields")
    return [r for term in terms for field in fields for r in term.get(field) or ()]


def _warnings(obj: Object) -> list[str]:
    spec, out = obj["spec"], []
    annotations = obj["metadata"].get("annotations") or {}
    for key, since, member in (
        (CLASS_ANNOTATION, "1.8", "storageClassName"),
        (_OPTIONS_ANNOTATION, "1.31", "mountOptions"),
    ):
        if key in annotations:
            why = f'deprecated since v{since}; use "{member}" attribute instead'
            out.append(f"metadata.annotations[{key}]: {why}")
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        why = (
            "The Recycle reclaim policy is deprecated. Instead, the recommended approach "
            "is to use dynamic provisioning."
        )
        out.append(f"spec.persistentVolumeReclaimPolicy: {why}")
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or []
    for i, term in enumerate(terms):
        out += nodelabels.selector_term(
            term, SPEC.child("nodeAffinity", "required", "nodeSelectorTerms").at(i)
        )
    for name, since in (
        ("photonPersistentDisk", "1.11"),
        ("scaleIO", "1.16"),
        ("storageos", "1.22"),
        ("glusterfs", "1.25"),
    ):
        if spec.get(name) is not None:
            removed = {
                "photonPersistentDisk": "1.16",
                "scaleIO": "1.22",
                "storageos": "1.25",
                "glusterfs": "1.26",
            }[name]
            shown = "storageOS" if name == "storageos" else name
            out.append(f"spec.{shown}: deprecated in v{since}, non-functional in v{removed}+")
    for name in ("cephfs", "rbd"):
        if spec.get(name) is not None:
            out.append(f"spec.{name}: deprecated in v1.28, non-functional in v1.31+")
    return out
