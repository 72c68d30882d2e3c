"""PersistentVolume. Its protection finalizer comes from admission (StorageObjectInUseProtection).

Sources: kubernetes ``pkg/apis/core`` (defaults, validation),
``pkg/registry/core/persistentvolume``, ``pkg/api/persistentvolume``.
"""

from __future__ import annotations

import posixpath
from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import nodelabels, scheduling
from apiserver.kinds.common.claims import VOLUME_MODES, access_modes
from apiserver.kinds.common.internal import plain_part, quote
from apiserver.kinds.common.jsondiff import go_diff
from apiserver.kinds.common.poddefaults import default_sources
from apiserver.kinds.common.resources import positive_amount
from apiserver.kinds.common.volumesources import SHARED, SHOWN, csi_driver_name
from apiserver.kinds.core.volume_cells import CLASS_ANNOTATION, modes_cell, storage_class
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.quantity import parse_quantity
from apiserver.meta.times import age, format_time

SPEC = FieldPath("spec")
_SPEC_STRUCT = "core.v1.PersistentVolumeSpec"
_RECLAIM = ["Delete", "Recycle", "Retain"]
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "nodePublishSecretRef",
    "nodeStageSecretRef",
    "controllerExpandSecretRef",
    "nodeExpandSecretRef",
)
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
_FIRST_CHECKED = """
    hostPath gcePersistentDisk awsElasticBlockStore glusterfs flocker nfs rbd quobyte cephfs iscsi
    cinder fc flexVolume azureFile vsphereVolume photonPersistentDisk portworxVolume azureDisk
"""
_CHECKED = (*_FIRST_CHECKED.split(), "scaleIO", "local", "storageos", "csi")
"""In the order of validation: the first is the one that may be there."""


@register("", "PersistentVolume")
class PersistentVolume(Kind):
    returns_deleted = True
    generation = False
    metadata_update = False
    metadata_again = 2
    status = True

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        spec["persistentVolumeReclaimPolicy"] = (
            spec.get("persistentVolumeReclaimPolicy") or "Retain"
        )
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"
        default_sources(spec)
        status = obj.setdefault("status", {})
        status["phase"] = status.get("phase") or "Pending"

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": format_time(context.now)}

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_status_update(obj, old, context)
        status, before = obj.setdefault("status", {}), old.get("status") or {}
        moved = "lastPhaseTransitionTime"
        if status.get("phase") != before.get("phase") and status.get(moved) in (
            None,
            before.get(moved),
        ):
            status[moved] = format_time(context.now)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_spec_errors(obj["spec"]))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """An update is validated as an object twice."""
        return [*self.validate(obj, context), *_changes(obj["spec"], old["spec"])]

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


def _spec_errors(spec: Object) -> c.Errors:
    modes = spec.get("accessModes") or []
    if not modes:
        yield required(SPEC.child("accessModes"))
    yield from access_modes(modes, SPEC.child("accessModes"))
    yield from _capacity(spec.get("capacity"), SPEC.child("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy:
        yield from c.one_of(policy, SPEC.child("persistentVolumeReclaimPolicy"), _RECLAIM)
    yield from _sources(spec)
    host = (spec.get("hostPath") or {}).get("path")
    if host and policy == "Recycle" and posixpath.normpath(host) == "/":
        yield forbidden(
            SPEC.child("persistentVolumeReclaimPolicy"),
            "may not be 'recycle' for a hostPath mount of '/'",
        )
    if spec.get("storageClassName"):
        yield from c.dns_subdomain(spec["storageClassName"], SPEC.child("storageClassName"))
    yield from c.optional_one_of(spec.get("volumeMode"), SPEC.child("volumeMode"), VOLUME_MODES)
    attributes = spec.get("volumeAttributesClassName")
    if attributes is not None:
        at = SPEC.child("volumeAttributesClassName")
        if not attributes:
            yield required(at, "an empty string is disallowed")
        else:
            yield from c.dns_subdomain(attributes, at)
        if spec.get("csi") is None:
            yield required(
                SPEC.child("csi"), "has to be specified when using volumeAttributesClassName"
            )


def _capacity(given: Object | None, path: FieldPath) -> c.Errors:
    capacity = given or {}
    if not capacity:
        yield required(path)
    if set(capacity) != {"storage"}:
        yield not_supported(path, given, ["storage"])
    for name, amount in sorted(capacity.items()):
        number = parse_quantity(amount).scaled(0)
        if number < 0:
            yield invalid(path.key(name), number, "must be a valid resource quantity")
        yield from positive_amount(amount, path.key(name))


def _sources(spec: Object) -> c.Errors:
    affinity = spec.get("nodeAffinity")
    at = SPEC.child("nodeAffinity", "required")
    if affinity is not None and affinity.get("required") is None:
        yield required(at, "must specify required node constraints")
    elif affinity is not None:
        yield from scheduling.node_selector(affinity["required"], at)
    count = 0
    for name in _CHECKED:
        source = spec.get(name)
        if source is None:
            continue
        path = SPEC.child(name)
        count += 1
        if count > 1 and name != "flexVolume":  # nobody asks upstream
            yield forbidden(path, "may not specify more than 1 volume type")
        elif name == "local":
            yield from _local(source, path, bound=affinity is not None)
        elif name == "csi":
            yield from _csi(source, path)
        else:
            yield from SHARED[name](source, SPEC.child(SHOWN.get(name, name)))
    if not count:
        yield required(SPEC, "must specify a volume type")


def _local(source: Object, path: FieldPath, *, bound: bool) -> c.Errors:
    if not source.get("path"):
        yield required(path.child("path"))
    elif ".." in source["path"].split("/"):
        yield invalid(path.child("path"), source["path"], "must not contain '..'")
    if not bound:
        yield required(SPEC.child("nodeAffinity"), "Local volume requires node affinity")


def _csi(source: Object, path: FieldPath) -> c.Errors:
    yield from csi_driver_name(source.get("driver", ""), path.child("driver"))
    if not source.get("volumeHandle"):
        yield required(path.child("volumeHandle"))
    for name in _CSI_SECRETS:
        secret = source.get(name)
        if secret is not None:
            for member in ("name", "namespace"):
                if not secret.get(member):
                    yield required(path.child(name, member))


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
    if old.get("nodeAffinity") is not None and spec.get("nodeAffinity") != old["nodeAffinity"]:
        yield invalid(
            FieldPath("nodeAffinity"),
            quote("core.v1.VolumeNodeAffinity", spec.get("nodeAffinity")),
            "field is immutable, except for updating from beta label to GA",
        )


def _warnings(obj: Object) -> list[str]:
    spec, out = obj["spec"], []
    if CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}):
        why = 'deprecated since v1.8; use "storageClassName" attribute instead'
        out.append(f"metadata.annotations[{CLASS_ANNOTATION}]: {why}")
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
            out.append(f"spec.{name}: deprecated in v{since}, non-functional in v{removed}+")
    for name in ("cephfs", "rbd"):
        if spec.get(name) is not None:
            out.append(f"spec.{name}: deprecated in v1.28, non-functional in v1.31+")
    return out
