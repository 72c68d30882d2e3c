"""Managers of a Scale and of the object that it scales.

The scale subresource is an object of its own (autoscaling/v1) with one field worth owning,
spec.replicas. Before a write its managers are made from those of the parent, afterwards they are
put back. Source: apimachinery ``util/managedfields/scalehandler.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.fieldmanager.fieldpath import Path, difference, has, path_of, set_of
from apiserver.fieldmanager.managed import Entry, Managed, decode_entries, encode_entries
from apiserver.fieldmanager.updater import Owned

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = path_of("spec", "replicas")

ReplicasPaths = Mapping[str, Path | None]
"""apiVersion of the parent → path of its replicas; None for a version without the scale
subresource."""


def replicas_path(json_path: str) -> Path:
    """From a CRD's specReplicasPath, such as ``.spec.replicas``."""
    return path_of(*json_path.removeprefix(".").split("."))


def to_scale(parent_entries: Sequence[Any] | None, paths: ReplicasPaths) -> list[Entry]:
    """managedFields of the Scale: those managers of the parent that own its replicas. Raises
    InvalidManagedFields."""
    parent = decode_entries(parent_entries)
    scale = Managed()
    for manager, owned in parent.fields.items():
        path = paths.get(owned.version)
        if path is not None and has(owned.fields, path):
            scale.fields[manager] = Owned(set_of(_REPLICAS), SCALE_VERSION, owned.applied)
            scale.times[manager] = parent.times.get(manager, "")
    return encode_entries(scale)


def to_parent(
    parent_entries: Sequence[Any] | None,
    scale_entries: Sequence[Any] | None,
    api_version: str,
    paths: ReplicasPaths,
) -> list[Entry]:
    """managedFields of the parent (written as ``api_version``) after the Scale was written. Raises
    InvalidManagedFields.

    A manager that is new to the parent has no time, as kube-apiserver has it."""
    parent = decode_entries(parent_entries)
    scale = decode_entries(scale_entries).fields
    result = Managed(times=parent.times)
    for manager, owned in parent.fields.items():
        if owned.version not in paths:
            continue
        path = paths[owned.version]
        if path is None or not has(owned.fields, path):
            result.fields[manager] = owned
        elif manager in scale:
            result.fields[manager] = owned
            del scale[manager]
        else:
            rest = difference(owned.fields, set_of(path))
            if rest:
                result.fields[manager] = owned._replace(fields=rest)
    target = paths.get(api_version)
    for manager, owned in scale.items():
        if target is not None and has(owned.fields, _REPLICAS):
            result.fields[manager] = Owned(set_of(target), api_version, owned.applied)
    return encode_entries(result)
