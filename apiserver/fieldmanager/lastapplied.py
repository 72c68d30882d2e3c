"""From client-side to server-side apply: the annotation in which kubectl kept what it applied last.

What that annotation says and the live object still holds is kubectl's own, whoever is recorded as
its manager, so an apply by "kubectl" may take it without force. Source: apimachinery
``util/managedfields/internal`` (lastappliedmanager.go, lastappliedupdater.go).
"""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.fieldmanager.compare import compare
from apiserver.fieldmanager.fieldpath import FieldSet, difference
from apiserver.fieldmanager.typed import TypedError, field_set, validate
from apiserver.fieldmanager.types import Type
from apiserver.fieldmanager.values import to_json
from apiserver.meta.names import MAX_ANNOTATIONS_BYTES
from apiserver.meta.objects import Object, copy_json

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER = "kubectl"


def last_applied(obj: Object) -> str:
    """The annotation's text, "" where there is none."""
    notes = (obj.get("metadata") or {}).get("annotations")
    text = notes.get(ANNOTATION) if isinstance(notes, dict) else None
    return text if isinstance(text, str) else ""


def owned_through(t: Type, live: Object) -> FieldSet | None:
    """What client-side apply owns of ``live`` (in the version of ``t``), None when the annotation
    is missing or of no use."""
    text = last_applied(live)
    if not text:
        return None
    try:
        applied = orjson.loads(text)
        if not isinstance(applied, dict) or any(
            applied.get(name) != live.get(name) for name in ("apiVersion", "kind")
        ):
            return None
        validate(t, live)
        validate(t, applied)
        changes = compare(t, applied, live)
    except (ValueError, TypedError):
        return None
    fields = field_set(t, applied)
    for gone in changes:
        fields = difference(fields, gone)
    return fields


def refreshed(obj: Object, intent: Object) -> Object:
    """``obj`` with the annotation renewed from ``intent`` if it has one; the annotation goes when
    it would be too large."""
    if not last_applied(obj):
        return obj
    applied = copy_json(intent)
    metadata = applied.get("metadata") or {}
    if isinstance(metadata.get("annotations"), dict):
        metadata["annotations"].pop(ANNOTATION, None)
    else:
        metadata.pop("annotations", None)
    renewed: dict[str, Any] = {
        **obj["metadata"]["annotations"],
        ANNOTATION: to_json(applied) + "\n",
    }
    if (
        sum(len(str(k).encode()) + len(str(v).encode()) for k, v in renewed.items())
        > MAX_ANNOTATIONS_BYTES
    ):
        del renewed[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": renewed}}
