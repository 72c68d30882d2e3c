"""VolumeAttachment."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    ErrorType,
    FieldErrors,
    FieldPath,
    forbidden,
    invalid,
    required,
    too_long,
)
from apiserver.kinds.base import STATUS_KEEPS_METADATA, Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.amounts import round_up
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.poddefaults import default_sources
from apiserver.kinds.common.volumesources import csi_driver_name
from apiserver.kinds.common.volumespec import inline_spec_errors
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_SPEC = FieldPath("spec")
_MOST_METADATA = 256 * 1024
_LONGEST_MESSAGE = 1024

_ATTACHER_RULES = {
    ErrorType.INVALID: "format=k8s-long-name-caseless",
    ErrorType.TOO_LONG: "maxLength",
}


@register("storage.k8s.io", "VolumeAttachment")
class VolumeAttachment(Kind):
    allow_unconditional_update = False
    returns_deleted = True
    generation = False
    metadata_update = False
    metadata_of_parts = (False, 1)
    status = True
    status_keeps = STATUS_KEEPS_METADATA
    declared = Declared(
        {
            "": [t.supports_subresource("/status")],
            "spec": [t.alpha(t.immutable())],
            "spec.attacher": [
                t.alpha(t.required()),
                t.alpha(t.format("k8s-long-name-caseless")),
                t.alpha(t.max_length(63)),
            ],
        }
    )

    def default(self, obj: Object, version: str) -> None:
        inline = (obj["spec"].get("source") or {}).get("inlineVolumeSpec") or {}
        default_sources(inline)
        round_up(inline.get("capacity"))

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {"attached": False}

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj.get("spec") or {}))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        spec, before = obj.get("spec") or {}, old.get("spec") or {}
        if spec == before:
            return []
        spec_text = quote("storage.v1.VolumeAttachmentSpec", spec)
        return list(covered([invalid(_SPEC, spec_text, c.IMMUTABLE)], "immutable"))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return [*_errors(obj.get("spec") or {}), *_status_errors(obj.get("status") or {})]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        return [
            metadata["name"],
            spec.get("attacher", ""),
            (spec.get("source") or {}).get("persistentVolumeName") or "",
            spec.get("nodeName", ""),
            bool((obj.get("status") or {}).get("attached")),
            age(metadata.get("creationTimestamp"), now),
        ]


def _errors(spec: Object) -> c.Errors:
    for error in csi_driver_name(spec.get("attacher", ""), _SPEC.child("attacher")):
        yield from covered([error], _ATTACHER_RULES.get(error.type, ""))
    source, path = spec.get("source") or {}, _SPEC.child("source")
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        yield required(
            path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        )
    elif name is not None and inline is not None:
        yield forbidden(
            path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        )
    elif name is not None and not name:
        yield required(
            path.child("persistentVolumeName"), "must specify non empty persistentVolumeName"
        )
    elif inline is not None:
        yield from inline_spec_errors(inline, path.child("inlineVolumeSpec"))
    yield from c.dns_subdomain(spec.get("nodeName", ""), _SPEC.child("nodeName"))
    if name is not None:
        yield from c.dns_subdomain(name, path.child("persistentVolumeName"))


def _status_errors(status: Object) -> c.Errors:
    path, metadata = FieldPath("status"), status.get("attachmentMetadata") or {}
    if sum(len(k.encode()) + len(v.encode()) for k, v in metadata.items()) > _MOST_METADATA:
        yield too_long(path.child("attachmentMetadata"), _MOST_METADATA)
    for member in ("attachError", "detachError"):
        error, at = status.get(member) or {}, path.child(member)
        if len(error.get("message", "").encode()) > _LONGEST_MESSAGE:
            # Upstream tells of the other limit.
            yield too_long(at.child("message"), _MOST_METADATA)
        code = error.get("errorCode")
        if code is not None and code < 0:
            yield invalid(
                at.child("errorCode"), code, "must be between 0 and 2147483647, inclusive"
            )
