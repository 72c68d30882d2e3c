"""PersistentVolumeClaim. Its protection finalizer and default class come from admission.

Sources: kubernetes ``pkg/apis/core`` (defaults, ValidatePersistentVolumeClaimUpdate),
``pkg/registry/core/persistentvolumeclaim``, ``pkg/api/persistentvolumeclaim`` (data sources,
warnings).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, invalid, not_supported
from apiserver.golang.strconv import go_quote
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import disabled
from apiserver.kinds.common.claims import claim_spec, default_claim_spec, default_claim_status
from apiserver.kinds.common.internal import plain
from apiserver.kinds.common.jsondiff import go_diff
from apiserver.kinds.common.resources import is_native
from apiserver.kinds.core.volume_cells import CLASS_ANNOTATION, modes_cell, storage_class
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.quantity import Quantity, canonical_quantity, parse_quantity
from apiserver.meta.times import age

_OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_SPEC = "core.v1.PersistentVolumeClaimSpec"
_POINTERS = ("selector", "dataSource", "dataSourceRef")
_RESIZE_STATES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
)
_STORAGE = FieldPath("spec.resources.requests.storage")


@register("", "PersistentVolumeClaim")
class PersistentVolumeClaim(Kind):
    returns_deleted = True
    generation = False
    status = True

    def default(self, obj: Object, version: str) -> None:
        default_claim_spec(obj.setdefault("spec", {}))
        default_claim_status(obj.setdefault("status", {}))

    def completed_by_update(self, obj: Object) -> bool:
        return True

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {"phase": "Pending"}
        _drop_data_sources(obj["spec"], {})
        _link_data_sources(obj["spec"])

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_update(obj, old, context)
        _drop_data_sources(obj["spec"], old["spec"])
        _link_data_sources(obj["spec"])

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(claim_spec(obj["spec"], FieldPath("spec")))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(_changes(obj, old))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return list(_status(obj.get("status") or {}))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if context.subresource:
            return []
        out = []
        if CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {}):
            why = 'deprecated since v1.8; use "storageClassName" attribute instead'
            out.append(f"metadata.annotations[{CLASS_ANNOTATION}]: {why}")
        for member in ("requests", "limits"):
            amount = ((obj["spec"].get("resources") or {}).get(member) or {}).get("storage")
            if amount is not None and parse_quantity(amount).scaled(-3) % 1000:
                text = go_quote(canonical_quantity(amount))
                out.append(
                    f"spec.resources.{member}[storage]: fractional byte value {text} is invalid, "
                    f"must be an integer"
                )
        return out

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec, status = obj["metadata"], obj.get("spec", {}), obj.get("status") or {}
        bound = bool(spec.get("volumeName"))
        return [
            metadata["name"],
            "Terminating" if metadata.get("deletionTimestamp") else status.get("phase", ""),
            spec.get("volumeName", ""),
            (status.get("capacity") or {}).get("storage", "0") if bound else "",
            modes_cell(status.get("accessModes") or []) if bound else "",
            storage_class(obj),
            spec.get("volumeAttributesClassName", "<unset>"),
            age(metadata.get("creationTimestamp"), now),
            spec.get("volumeMode") or "<unset>",
        ]


def _drop_data_sources(spec: Object, old: Object) -> None:
    """Without a word, unless the stored claim has one: what comes from another namespace, and what
    old clients cannot mean."""
    disabled.drop_foreign_source(spec, old)
    source = spec.get("dataSource")
    if source is None or old.get("dataSource") or old.get("dataSourceRef"):
        return
    old_kind = (source.get("apiGroup") or "", source.get("kind")) in _OLD_SOURCES
    if not old_kind and spec.get("dataSourceRef") is None:
        del spec["dataSource"]


def _link_data_sources(spec: Object) -> None:
    """dataSource and dataSourceRef say the same, unless the reference goes to another namespace."""
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and ref is None:
        spec["dataSourceRef"] = dict(source)
    elif ref is not None and source is None and not ref.get("namespace"):
        spec["dataSource"] = {k: v for k, v in ref.items() if k != "namespace"}


def _size(claim: Object, *path: str) -> Quantity:
    value: Any = claim
    for name in path:
        value = (value or {}).get(name)
    return parse_quantity(value or "0")


def _changes(obj: Object, old: Object) -> c.Errors:
    new_spec, old_spec = copy_json(obj["spec"]), copy_json(old["spec"])
    yield from _class_change(obj, old, new_spec)
    if not old_spec.get("volumeName"):
        # The volume controller sets it once.
        _take(old_spec, new_spec, "volumeName")
    if (obj.get("status") or {}).get("phase") == "Bound":
        requests = (new_spec.get("resources") or {}).get("requests")
        if requests is not None:
            _take(requests, ((old_spec.get("resources") or {}).get("requests") or {}), "storage")
        _take(new_spec, old_spec, "volumeAttributesClassName")
    if _comparable(new_spec) != _comparable(old_spec):
        why = (
            "spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims"
        )
        before, after = (plain(_SPEC, spec) for spec in (old_spec, new_spec))
        yield forbidden("spec", f"{why}\n{go_diff(before, after)}")
    new_size = _size(obj, "spec", "resources", "requests", "storage")
    if new_size < _size(old, "spec", "resources", "requests", "storage") and new_size <= _size(
        old, "status", "capacity", "storage"
    ):
        yield forbidden(_STORAGE, "field can not be less than status.capacity")
    yield from c.immutable(
        obj["spec"].get("volumeMode"), old["spec"].get("volumeMode"), FieldPath("volumeMode")
    )
    yield from _attributes_change(obj, old)


def _attributes_change(obj: Object, old: Object) -> c.Errors:
    """Attributes that a volume has been given cannot be taken from it again."""
    member = "volumeAttributesClassName"
    name, current = obj["spec"].get(member), "currentVolumeAttributesClassName"
    applied = (old.get("status") or {}).get(current) is not None
    if name == old["spec"].get(member) or name or not applied:
        return
    what = "nil" if name is None else "empty string"
    why = f"update to {what} is forbidden when status.{current} is not nil"
    yield forbidden(FieldPath("spec").child(member), why)


def _status(status: Object) -> c.Errors:
    """What is there, and how far a resize has come."""
    path, amounts = FieldPath("status"), "allocatedResources"
    for name, amount in sorted((status.get("capacity") or {}).items()):
        yield from _amount(amount, path.child("capacity").key(name))
    for name, state in sorted((status.get("allocatedResourceStatuses") or {}).items()):
        yield from _resource(name, path.child("allocatedResourceStatuses"))
        if state not in _RESIZE_STATES:
            yield not_supported(
                path.child("allocatedResourceStatuses"), name, sorted(_RESIZE_STATES)
            )
    for name, amount in sorted((status.get(amounts) or {}).items()):
        wrong = list(_resource(name, path.child(amounts)))
        yield from wrong or _amount(amount, path.child(amounts).key(name))


def _amount(amount: str, path: FieldPath) -> c.Errors:
    number = parse_quantity(amount).scaled(0)
    if number < 0:
        yield invalid(path, number, "must be a valid resource quantity")


def _resource(name: str, path: FieldPath) -> c.Errors:
    """Of Kubernetes' own resources a claim has storage alone."""
    wrong = list(c.qualified_name(name, path))
    yield from wrong
    if not wrong and is_native(name) and name != "storage":
        yield not_supported(path, name, ["storage"])


def _take(into: Object, source: Object, name: str) -> None:
    if source.get(name) is None:
        into.pop(name, None)
    else:
        into[name] = source[name]


def _class_change(obj: Object, old: Object, new_spec: Object) -> c.Errors:
    """A claim without class may get one, and the old annotation may become the field; nothing
    else."""
    new_note, old_note = (
        (o["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION) for o in (obj, old)
    )
    new_class, old_class = obj["spec"].get("storageClassName"), old["spec"].get("storageClassName")
    noted = old_class is None and new_class is not None and old_note in (None, new_class)
    if noted:
        new_spec.pop("storageClassName", None)
    if (new_note or "") != (old_note or "") and not (
        noted and old_note is not None and new_note is None
    ):
        path = FieldPath("metadata.annotations").child(CLASS_ANNOTATION)
        yield invalid(path, new_note or "", "field is immutable")


def _comparable(spec: Object) -> Any:
    """Quantities compare by value; null and absent are one."""

    def plain(value: Any, amounts: bool = False) -> Any:
        if isinstance(value, dict):
            return {
                k: plain(v, k in ("requests", "limits") or amounts)
                for k, v in value.items()
                if v is not None and (k in _POINTERS or v not in ({}, []))
            }
        return canonical_quantity(value) if amounts and isinstance(value, str) else value

    return plain(spec)
