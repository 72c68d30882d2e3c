"""Mounts and raw block devices of a container, matched with the pod's volumes."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.fielderrors import FieldPath, forbidden, invalid, not_found, required
from apiserver.kinds.common import checks, paths
from apiserver.meta.objects import ReadOnlyObject


def volume_mounts(
    container: ReadOnlyObject, volumes: Mapping[str, ReadOnlyObject], path: FieldPath
) -> checks.Errors:
    devices = container.get("volumeDevices") or ()
    device_names, device_paths = (
        {d.get("name", "") for d in devices},
        {d.get("devicePath", "") for d in devices},
    )
    seen: set[str] = set()
    for i, mount in enumerate(container.get("volumeMounts") or ()):
        at, name, where = path.at(i), mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(at.child("name"))
        if name not in volumes:
            yield not_found(at.child("name"), name)
        if not where:
            yield required(at.child("mountPath"))
        if where in seen:
            yield invalid(at.child("mountPath"), where, "must be unique")
        seen.add(where)
        if name in device_names:
            yield invalid(at.child("name"), name, "must not already exist in volumeDevices")
        if where in device_paths:
            yield invalid(
                at.child("mountPath"), where, "must not already exist as a path in volumeDevices"
            )
        yield from _sub_paths(mount, volumes.get(name, {}), at, path)
        yield from _propagation(mount, container, path.child("mountPropagation"))
        yield from _recursive_read_only(mount, path.child("recursiveReadOnly"))


def _sub_paths(
    mount: ReadOnlyObject, volume: ReadOnlyObject, at: FieldPath, path: FieldPath
) -> checks.Errors:
    """``path``: of the list; kube-apiserver does not number some of these errors."""
    given = [field for field in ("subPath", "subPathExpr") if mount.get(field)]
    for field in given:
        if volume.get("image") is not None:
            yield invalid(at.child(field), mount[field], "not allowed in image volume sources")
        if field == "subPathExpr" and mount.get("subPath"):
            yield invalid(
                at.child(field), mount[field], "subPathExpr and subPath are mutually exclusive"
            )
        yield from paths.descending(mount[field], path.child(field))


def _propagation(
    mount: ReadOnlyObject, container: ReadOnlyObject, path: FieldPath
) -> checks.Errors:
    mode = mount.get("mountPropagation")
    yield from checks.optional_one_of(mode, path, ("Bidirectional", "HostToContainer", "None"))
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        yield forbidden(
            path, "Bidirectional mount propagation is available only to privileged containers"
        )


def _recursive_read_only(mount: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    mode = mount.get("recursiveReadOnly")
    yield from checks.optional_one_of(mode, path, ("Disabled", "Enabled", "IfPossible"))
    if mode not in ("Enabled", "IfPossible"):
        return
    if not mount.get("readOnly"):
        yield forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        yield forbidden(
            path, "may only be specified when mountPropagation is None or not specified"
        )


def volume_devices(
    container: ReadOnlyObject, volumes: Mapping[str, ReadOnlyObject], path: FieldPath
) -> checks.Errors:
    mounts = container.get("volumeMounts") or ()
    mount_names, mount_paths = (
        {m.get("name", "") for m in mounts},
        {m.get("mountPath", "") for m in mounts},
    )
    names: set[str] = set()
    seen: set[str] = set()
    for i, device in enumerate(container.get("volumeDevices") or ()):
        at, name, where = path.at(i), device.get("name", ""), device.get("devicePath", "")
        yield from _device_volume(name, names, volumes.get(name), at.child("name"))
        yield from _device_path(where, seen, at.child("devicePath"))
        if name in mount_names:
            yield invalid(at.child("name"), name, "must not already exist in volumeMounts")
        if where in mount_paths:
            yield invalid(
                at.child("devicePath"), where, "must not already exist as a path in volumeMounts"
            )
        if name:
            names.add(name)


def _device_volume(
    name: str, names: set[str], volume: ReadOnlyObject | None, path: FieldPath
) -> checks.Errors:
    """``names``: of the devices before it."""
    if not name:
        yield required(path)
    if name in names:
        yield invalid(path, name, "must be unique")
    if volume is None:
        yield not_found(path, name)
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        yield invalid(
            path,
            name,
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
        )


def _device_path(where: str, seen: set[str], path: FieldPath) -> checks.Errors:
    """``seen``: paths of the devices before it, which this one joins."""
    if not where:
        yield required(path)
    if where in seen:
        yield invalid(path, where, "must be unique")
    if ".." in where.split("/"):
        yield invalid(path, where, "can not contain backsteps ('..')")
    else:
        seen.add(where)
