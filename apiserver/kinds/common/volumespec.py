"""The spec of a PersistentVolume, also as it stands inside a VolumeAttachment (kubernetes
``pkg/apis/core/validation`` ValidatePersistentVolumeSpec)."""

from __future__ import annotations

import posixpath

from apiserver.fielderrors import FieldPath, forbidden, invalid, not_supported, required
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import scheduling
from apiserver.kinds.common.claims import VOLUME_MODES, access_modes
from apiserver.kinds.common.resources import positive_amount
from apiserver.kinds.common.volumesources import SHARED, SHOWN, csi_driver_name, persistent_iscsi
from apiserver.meta.objects import Object
from apiserver.meta.quantity import parse_quantity

_RECLAIM = ["Delete", "Recycle", "Retain"]
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "nodePublishSecretRef",
    "nodeStageSecretRef",
    "controllerExpandSecretRef",
    "nodeExpandSecretRef",
)
_FIRST_CHECKED = """
    hostPath gcePersistentDisk awsElasticBlockStore glusterfs flocker nfs rbd quobyte cephfs iscsi
    cinder fc flexVolume azureFile vsphereVolume photonPersistentDisk portworxVolume azureDisk
"""
_CHECKED = (*_FIRST_CHECKED.split(), "scaleIO", "local", "storageos", "csi")
"""In the order of validation: the first is the one that may be there."""
_INLINE = "in the context of inline volumes"


def volume_spec_errors(spec: Object, path: FieldPath) -> c.Errors:
    """Of a PersistentVolume."""
    yield from _modes(spec, path)
    yield from _capacity(spec.get("capacity"), path.child("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy:
        yield from c.one_of(policy, path.child("persistentVolumeReclaimPolicy"), _RECLAIM)
    affinity = spec.get("nodeAffinity")
    at = path.child("nodeAffinity", "required")
    if affinity is not None and affinity.get("required") is None:
        yield required(at, "must specify required node constraints")
    elif affinity is not None:
        yield from scheduling.node_selector(affinity["required"], at)
    yield from _sources(spec, path, bound=affinity is not None)
    yield from _recycled_root(spec, path)
    if spec.get("storageClassName"):
        yield from c.dns_subdomain(spec["storageClassName"], path.child("storageClassName"))
    yield from c.optional_one_of(spec.get("volumeMode"), path.child("volumeMode"), VOLUME_MODES)
    yield from _attributes_class(spec, path)


def inline_spec_errors(spec: Object, path: FieldPath) -> c.Errors:
    """Of a volume that exists for one attachment only: of a CSI driver, and without anything that
    concerns its claim."""
    for name in ("claimRef", "capacity"):
        if spec.get(name):
            yield forbidden(path.child(name), f"may not be specified {_INLINE}")
    if spec.get("csi") is None:
        yield required(path.child("csi"), f"has to be specified {_INLINE}")
    yield from _modes(spec, path)
    if spec.get("persistentVolumeReclaimPolicy", "Retain") not in ("", "Retain"):
        at = path.child("persistentVolumeReclaimPolicy")
        yield forbidden(at, f"may only be Retain {_INLINE}")
    if spec.get("nodeAffinity") is not None:
        yield forbidden(path.child("nodeAffinity"), f"may not be specified {_INLINE}")
    yield from _sources(spec, path, bound=False)
    yield from _recycled_root(spec, path)
    if spec.get("storageClassName"):
        yield forbidden(path.child("storageClassName"), f"may not be specified {_INLINE}")
    if spec.get("volumeMode") not in (None, "Filesystem"):
        why = f"may not specify volumeMode other than Filesystem {_INLINE}"
        yield forbidden(path.child("volumeMode"), why)


def _modes(spec: Object, path: FieldPath) -> c.Errors:
    modes = spec.get("accessModes") or []
    if not modes:
        yield required(path.child("accessModes"))
    yield from access_modes(modes, path.child("accessModes"))


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


def _sources(spec: Object, path: FieldPath, *, bound: bool) -> c.Errors:
    """bound: the volume says which nodes it is on."""
    count = 0
    for name in _CHECKED:
        source = spec.get(name)
        if source is None:
            continue
        at = path.child(name)
        count += 1
        if count > 1 and name != "flexVolume":  # nobody asks upstream
            other = path.child("cephFS") if name == "cephfs" else at
            yield forbidden(other, "may not specify more than 1 volume type")
        elif name == "local":
            yield from _local(source, path, bound=bound)
        elif name == "iscsi":
            yield from persistent_iscsi(source, at)
        elif name == "csi":
            yield from _csi(source, at)
        else:
            yield from SHARED[name](source, path.child(SHOWN.get(name, name)))
    if not count:
        yield required(path, "must specify a volume type")


def _local(source: Object, spec: FieldPath, *, bound: bool) -> c.Errors:
    at = spec.child("local", "path")
    if not source.get("path"):
        yield required(at)
    elif ".." in source["path"].split("/"):
        yield invalid(at, source["path"], "must not contain '..'")
    if not bound:
        yield required(spec.child("nodeAffinity"), "Local volume requires node affinity")


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


def _recycled_root(spec: Object, path: FieldPath) -> c.Errors:
    host = (spec.get("hostPath") or {}).get("path")
    recycles = spec.get("persistentVolumeReclaimPolicy") == "Recycle"
    if host and recycles and posixpath.normpath(host) == "/":
        yield forbidden(
            path.child("persistentVolumeReclaimPolicy"),
            "may not be 'recycle' for a hostPath mount of '/'",
        )


def _attributes_class(spec: Object, path: FieldPath) -> c.Errors:
    attributes, at = spec.get("volumeAttributesClassName"), path.child("volumeAttributesClassName")
    if attributes is None:
        return
    if not attributes:
        yield required(at, "an empty string is disallowed")
    else:
        yield from c.dns_subdomain(attributes, at)
    if spec.get("csi") is None:
        yield required(
            path.child("csi"), "has to be specified when using volumeAttributesClassName"
        )
