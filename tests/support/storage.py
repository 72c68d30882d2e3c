"""Objects, and the writes that make them, for tests of storage and watch. Free of Django: writers
in other processes use it too."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from apiserver.meta.gvk import GroupResource
from apiserver.storage.interface import ObjectKey, Record, Write

CONFIGMAPS = GroupResource("", "configmaps")
LEASES = GroupResource("coordination.k8s.io", "leases")

numbers = itertools.count((os.getpid() % 10_000) * 10_000_000 + int(time.time()) % 10_000 * 1000)


def key(name: str, namespace: str = "default", resource: GroupResource = CONFIGMAPS) -> ObjectKey:
    return ObjectKey(resource.group, resource.resource, namespace, name)


def text(k: ObjectKey, value: str = "", labels: Mapping[str, str] | None = None) -> bytes:
    metadata: dict[str, Any] = {"name": k.name, "namespace": k.namespace}
    if labels:
        metadata["labels"] = dict(labels)
    return json.dumps(
        {"kind": "X", "apiVersion": "v1", "metadata": metadata, "value": value},
        separators=(",", ":"),
    ).encode()


def create(
    k: ObjectKey, value: str = "", labels: Mapping[str, str] | None = None, **columns: Any
) -> Write:
    return Write("create", k, str(uuid4()), text(k, value, labels), **columns)


def update(old: Record, value: str = "", labels: Mapping[str, str] | None = None) -> Write:
    return Write(
        "update", old.key, old.uid, text(old.key, value, labels), expected=old.resource_version
    )


def delete(old: Record) -> Write:
    return Write("delete", old.key, old.uid, old.data, expected=old.resource_version)


def stored(write: Write, resource_version: int) -> Record:
    return Record(write.key, write.uid, resource_version, write.data)


def index(resource: GroupResource, data: bytes) -> tuple[Mapping[str, str], Mapping[str, str]]:
    obj = json.loads(data)
    return obj["metadata"].get("labels", {}), {"value": obj["value"]}
