"""Volumes of a pod: exactly one source each, and what each source needs.

Source: k8s.io/kubernetes ``apis/core/validation`` (ValidateVolumes). Sources that only name strings
which must be there are in a table; the others have a function. PersistentVolumes use the same
functions for the sources that they share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiserver.fielderrors import FieldPath, duplicate, forbidden, invalid, required
from apiserver.kinds.common import checks, claims, projected, volumesources
from apiserver.kinds.common.projected import config_items
from apiserver.meta.objects import ReadOnlyObject
from apiserver.meta.quantity import parse_quantity

SourceCheck = Callable[[ReadOnlyObject, FieldPath], checks.Errors]

ONE_TYPE = "may not specify more than 1 volume type"


def volumes(
    values: Sequence[ReadOnlyObject], path: FieldPath, pod_name: str = "", *, in_pod: bool = False
) -> checks.Errors:
    """``pod_name``: "" in templates, where the names of generated claims are not known; ``in_pod``:
    not in a template."""
    seen: set[str] = set()
    generated = {
        f"{pod_name}-{v.get('name', '')}"
        for v in values
        if pod_name and v.get("ephemeral") is not None
    }
    for i, volume in enumerate(values):
        at, name = path.at(i), volume.get("name", "")
        wrong = list(_source(volume, at, pod_name, in_pod))
        if not name:
            wrong.append(required(at.child("name")))
        else:
            wrong += checks.dns_label(name, at.child("name"))
        if name in seen:
            wrong.append(duplicate(at.child("name"), name))
        yield from wrong
        if not wrong:
            seen.add(name)
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in generated:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            yield invalid(at.child("persistentVolumeClaim", "claimName"), claim, why)


def valid(
    values: Sequence[ReadOnlyObject], path: FieldPath, pod_name: str = ""
) -> dict[str, ReadOnlyObject]:
    """The volumes that mounts may use, by name: those without an error of their own."""
    by_name: dict[str, ReadOnlyObject] = {}
    for i, volume in enumerate(values):
        name = volume.get("name", "")
        wrong = (
            not name
            or name in by_name
            or any(checks.dns_label(name, path))
            or any(_source(volume, path.at(i), pod_name, False))
        )
        if not wrong:
            by_name[name] = volume
    return by_name


def _source(volume: ReadOnlyObject, path: FieldPath, pod_name: str, in_pod: bool) -> checks.Errors:
    sources = [kind for kind in _ORDER if volume.get(kind) is not None]
    if not sources:
        yield required(path, "must specify a volume type")
        return
    kind = sources[0]
    yield from _SOURCES[kind](volume[kind], path.child(volumesources.SHOWN.get(kind, kind)))
    if kind == "ephemeral" and pod_name and volume.get("name"):
        claim = f"{pod_name}-{volume['name']}"
        for error in checks.dns_subdomain(claim, path):
            yield invalid(path.child("name"), volume["name"], f'PVC name "{claim}": {error.detail}')
    if kind == "image" and in_pod and not volume["image"].get("reference"):
        yield required(path.child("image", "reference"))
    for other in sources[1:]:
        yield forbidden(
            path.child({"cephfs": "cephFS", "downwardAPI": "downwarAPI"}.get(other, other)),
            ONE_TYPE,
        )
    iscsi = volume.get("iscsi") or {}
    if (
        iscsi.get("initiatorName") is not None
        and len(f"{volume.get('name', '')}:{iscsi.get('targetPortal', '')}") > 64
    ):
        yield invalid(path.child("name"), volume.get("name", ""), volumesources.LONG_ISCSI)


def _empty_dir(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    limit = source.get("sizeLimit")
    if limit is not None and parse_quantity(limit).sign < 0:
        yield forbidden(
            path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity"
        )


def _secret(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if not source.get("secretName"):
        yield required(path.child("secretName"))
    yield from config_items(source, path)


def _config_map(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if not source.get("name"):
        yield required(path.child("name"))
    yield from config_items(source, path)


def _ephemeral(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(path.child("volumeClaimTemplate"))
    else:
        yield from claims.template(template, path.child("volumeClaimTemplate"))


def _image(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    return checks.one_of(
        source.get("pullPolicy", ""), path.child("pullPolicy"), ("Always", "IfNotPresent", "Never")
    )


_OWN: dict[str, SourceCheck] = {
    "emptyDir": _empty_dir,
    "secret": _secret,
    "configMap": _config_map,
    "downwardAPI": projected.downward_api,
    "projected": projected.projected,
    "ephemeral": _ephemeral,
    "image": _image,
    "csi": volumesources.csi_inline,
}
_SOURCES: dict[str, SourceCheck] = {**volumesources.SHARED, **_OWN}
_ORDER = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)
