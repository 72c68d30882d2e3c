"""Volume sources that pods and PersistentVolumes share. The two have the same members, but a
PersistentVolume's secrets name a namespace.

``SHARED`` maps the source's field to its check; ``SHOWN`` has the fields whose errors
kube-apiserver reports under another name.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from apiserver.fielderrors import FieldPath, invalid, not_supported, required, too_long
from apiserver.kinds.common import checks, paths
from apiserver.meta import names
from apiserver.meta.objects import ReadOnlyObject

SourceCheck = Callable[[ReadOnlyObject, FieldPath], checks.Errors]

SHOWN = {"gcePersistentDisk": "persistentDisk"}
LONG_ISCSI = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
    "iscsi.initiatorName is specified."
)
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_WRONG_NAME = "must be valid format"
_UNKNOWN_NAME = f"{_WRONG_NAME} starting with iqn, eui, or naa"
_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([0-9A-Za-z\-.]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[0-9A-Za-z]{16}$"),
    "naa": re.compile(r"^naa.[0-9A-Za-z]{32}$"),
}
_HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas"


def _needs(*fields: str) -> SourceCheck:
    """A source that is fine when these members are not empty."""

    def check(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
        for field in fields:
            if not source.get(field):
                yield required(path.child(field))

    return check


def host_path(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if not source.get("path"):
        yield required(path.child("path"))
        return
    yield from paths.no_backsteps(source["path"], path.child("path"))
    yield from checks.optional_one_of(source.get("type"), path.child("type"), _HOST_PATH_TYPES)


def _git(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if not source.get("repository"):
        yield required(path.child("repository"))
    yield from paths.descending(source.get("directory", ""), path.child("directory"))


def _disk(field: str) -> SourceCheck:
    def check(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
        if not source.get(field):
            yield required(path.child(field))
        if not 0 <= source.get("partition", 0) <= 255:
            yield invalid(
                path.child("partition"), source["partition"], "must be between 1 and 255, inclusive"
            )

    return check


def _nfs(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    yield from _needs("server", "path")(source, path)
    if not source.get("path", "").startswith("/"):
        yield invalid(path.child("path"), source.get("path", ""), "must be an absolute path")


def iscsi(source: ReadOnlyObject, path: FieldPath, why: str = _UNKNOWN_NAME) -> checks.Errors:
    """``why``: what is said of a name that is of no known form."""
    yield from _needs("targetPortal", "iqn")(source, path)
    if source.get("iqn"):
        yield from _initiator(source["iqn"], path.child("iqn"), why)
    if not 0 <= source.get("lun", 0) <= 255:
        yield invalid(path.child("lun"), source["lun"], "must be between 0 and 255, inclusive")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get(
        "secretRef"
    ) is None:
        yield required(path.child("secretRef"))
    if source.get("initiatorName") is not None:
        yield from _initiator(source["initiatorName"], path.child("initiatorname"), why)


def persistent_iscsi(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """Of a PersistentVolume, whose secret has a namespace."""
    yield from iscsi(source, path, _WRONG_NAME)
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        yield required(path.child("secretRef", "name"))


def _initiator(value: str, path: FieldPath, why: str) -> checks.Errors:
    pattern = _INITIATORS.get(value[:3])
    if pattern is None:
        yield invalid(path, value, why)
    elif not pattern.search(value):
        yield invalid(path, value, _WRONG_NAME)


def _flocker(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    name, uid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uid:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and uid:
        yield invalid(
            path, "resource", "datasetName and datasetUUID can not be specified simultaneously"
        )
    if "/" in name:
        yield invalid(path.child("datasetName"), name, "must not contain '/'")


def _cinder(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    yield from _needs("volumeID")(source, path)
    yield from secret_ref(source, path)


def secret_ref(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if source.get("secretRef") is not None and not source["secretRef"].get("name"):
        yield required(path.child("secretRef", "name"))


def _quobyte(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    registry = source.get("registry", "")
    if not registry:
        yield required(path.child("registry"), _HOST_PORTS)
    elif len(source.get("tenant", "")) >= 65:
        yield required(
            path.child("tenant"), "must be a UUID and may not exceed a length of 64 characters"
        )
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*", pair):
                yield invalid(path.child("registry"), registry, _HOST_PORTS)
    yield from _needs("volume")(source, path)


def _fibre_channel(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    names_, ids = source.get("targetWWNs") or [], source.get("wwids") or []
    if not names_ and not ids:
        yield required(
            path.child("targetWWNs"), "must specify either targetWWNs or wwids, but not both"
        )
    if names_ and ids:
        yield invalid(
            path.child("targetWWNs"),
            names_,
            "targetWWNs and wwids can not be specified simultaneously",
        )
    lun = source.get("lun")
    if names_ and lun is None:
        yield required(path.child("lun"), "lun is required if targetWWNs is specified")
    elif names_ and lun is not None and not 0 <= lun <= 255:
        yield invalid(path.child("lun"), lun, "must be between 0 and 255, inclusive")


def _flex(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    yield from _needs("driver")(source, path)
    for key in sorted(source.get("options") or {}):
        prefix, slash, _ = key.partition("/")
        if ("." + (prefix if slash else key).lower()).endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(
                path.child("options").key(key),
                key,
                "kubernetes.io and k8s.io namespaces are reserved",
            )


def _azure_disk(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    yield from _needs("diskName", "diskURI")(source, path)
    uri, kind = source.get("diskURI", ""), source.get("kind")
    yield from checks.optional_one_of(
        source.get("cachingMode"), path.child("cachingMode"), ("None", "ReadOnly", "ReadWrite")
    )
    yield from checks.optional_one_of(kind, path.child("kind"), ("Dedicated", "Managed", "Shared"))
    managed = (
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
        "{disk-id}"
    )
    blob = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield not_supported(path.child("diskURI"), uri, [managed])
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        yield not_supported(path.child("diskURI"), uri, [blob])


def _storage_os(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if not source.get("volumeName"):
        yield required(path.child("volumeName"))
    else:
        yield from checks.dns_label(source["volumeName"], path.child("volumeName"))
    if source.get("volumeNamespace"):
        yield from checks.dns_label(source["volumeNamespace"], path.child("volumeNamespace"))
    yield from secret_ref(source, path)


def csi_driver_name(name: str, path: FieldPath) -> checks.Errors:
    if not name:
        yield required(path)
        return
    if len(name) > 63:
        yield too_long(path, 63)
    for text in names.dns1123_subdomain(name.lower()):
        yield invalid(path, name, text)


def csi_inline(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    yield from csi_driver_name(source.get("driver", ""), path.child("driver"))
    ref = source.get("nodePublishSecretRef")
    if ref is not None and not ref.get("name"):
        yield required(path.child("nodePublishSecretRef", "name"))
    elif ref is not None:
        yield from checks.dns_subdomain(ref["name"], path.child("name"))


SHARED: dict[str, SourceCheck] = {
    "hostPath": host_path,
    "gitRepo": _git,
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "nfs": _nfs,
    "iscsi": iscsi,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _cinder,
    "cephfs": _needs("monitors"),
    "quobyte": _quobyte,
    "fc": _fibre_channel,
    "flexVolume": _flex,
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _azure_disk,
    "storageos": _storage_os,
    "scaleIO": _needs("gateway", "system", "volumeName"),
}
