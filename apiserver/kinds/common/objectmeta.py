"""What ObjectMeta may hold: names, labels, annotations, owners and finalizers, of objects and of
those embedded in custom resources (k8s.io/apimachinery ``api/validation/objectmeta.go``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    GoSyntax,
    forbidden,
    invalid,
    required,
    too_long,
)
from apiserver.fieldmanager.names import validate_manager_name
from apiserver.kinds.common.namerules import NameRule
from apiserver.meta import names
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.objects import Object
from apiserver.schema.labelselector import validate_labels

Metadata = Mapping[str, Any]
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
STANDARD_FINALIZERS = frozenset({"kubernetes", ORPHAN, FOREGROUND})
_FORBIDDEN_OWNERS = {("v1", "Event")}
_MAX_SUBRESOURCE_BYTES = 256


def drop_annotations(metadata: Object, names: AbstractSet[str]) -> None:
    """In place; annotations that none are left of go too."""
    annotations = metadata.get("annotations")
    if not annotations or names.isdisjoint(annotations):
        return
    left = {k: v for k, v in annotations.items() if k not in names}
    if left:
        metadata["annotations"] = left
    else:
        del metadata["annotations"]


def without_annotations(obj: Object, names: AbstractSet[str]) -> Object:
    """The object itself where it has none of them."""
    if names.isdisjoint(obj["metadata"].get("annotations") or ()):
        return obj
    metadata = dict(obj["metadata"])
    drop_annotations(metadata, names)
    return {**obj, "metadata": metadata}


def identity_errors(
    metadata: Metadata, path: FieldPath, *, namespaced: bool, name_rule: NameRule
) -> FieldErrors:
    """Name, namespace, generation and finalizers (of ValidateObjectMetaAccessor, what
    ValidateObjectMetaAccessorUpdate does not check)."""
    errors = name_errors(metadata, name_rule, path)
    namespace = metadata.get("namespace", "")
    if namespaced:
        if not namespace:
            errors.append(required(path.child("namespace")))
        else:
            for text in names.dns1123_label(namespace):
                errors.append(invalid(path.child("namespace"), namespace, text))
    elif namespace:
        errors.append(forbidden(path.child("namespace"), "not allowed on this type"))
    if metadata.get("generation", 0) < 0:
        errors.append(
            invalid(
                path.child("generation"),
                metadata["generation"],
                "must be greater than or equal to 0",
            )
        )
    if finalizers := metadata.get("finalizers"):
        errors += _finalizer_errors(finalizers, path.child("finalizers"))
    return errors


def name_errors(metadata: Metadata, rule: NameRule, path: FieldPath) -> FieldErrors:
    """Of a name, and of the beginning of a generated one."""
    errors: FieldErrors = []
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    if prefix:
        errors += [invalid(path.child("generateName"), prefix, text) for text in rule(prefix, True)]
    if not name:
        errors.append(required(path.child("name"), "name or generateName is required"))
    else:
        for text in rule(name, False):
            errors.append(invalid(path.child("name"), name, text))
    return errors


def shared_errors(metadata: Metadata, path: FieldPath) -> FieldErrors:
    """Labels, annotations, owner references and managers: what create and update check alike."""
    errors: FieldErrors = []
    if labels := metadata.get("labels"):
        errors += validate_labels(labels, path.child("labels"))
    if annotations := metadata.get("annotations"):
        errors += _annotation_errors(annotations, path.child("annotations"))
    if owners := metadata.get("ownerReferences"):
        errors += _owner_errors(owners, path.child("ownerReferences"))
    if entries := metadata.get("managedFields"):
        errors += _manager_errors(entries, path.child("managedFields"))
    return errors


def _manager_errors(entries: Any, path: FieldPath) -> FieldErrors:
    """Those of an object itself have been decoded, and can be wrong in their names only; those of
    an embedded one are as they were sent (``apis/meta/v1/validation``, ValidateManagedFields)."""
    errors: FieldErrors = []
    for i, entry in enumerate(entries):
        at, operation, fields_type = path.at(i), entry.get("operation"), entry.get("fieldsType")
        if operation not in ("Apply", "Update"):
            text = "must be `Apply` or `Update`"
            errors.append(invalid(at.child("operation"), operation or "", text))
        if fields_type and fields_type != "FieldsV1":
            errors.append(invalid(at.child("fieldsType"), fields_type, "must be `FieldsV1`"))
        errors += validate_manager_name(entry.get("manager") or "", at.child("manager"))
        if len((entry.get("subresource") or "").encode()) > _MAX_SUBRESOURCE_BYTES:
            errors.append(too_long(at.child("subresource"), _MAX_SUBRESOURCE_BYTES))
    return errors


def _annotation_errors(annotations: Mapping[str, str], path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    for key in annotations:
        errors += [invalid(path, key, text) for text in names.qualified_name(key.lower())]
    size = sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items())
    if size > names.MAX_ANNOTATIONS_BYTES:
        errors.append(too_long(path, names.MAX_ANNOTATIONS_BYTES))
    return errors


def _owner_errors(owners: Any, path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    controller = None
    owner_text = cache(
        lambda: GoSyntax(f"[{','.join(map(_in_go_order, owners))}]")
    )  # each further controller quotes all owners
    for owner in owners:
        version = owner.get("apiVersion", "")
        if not _version_of(version):
            errors.append(invalid(path.child("apiVersion"), version, "version must not be empty"))
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                errors.append(invalid(path.child(name), "", "must not be empty"))
        if (version, owner.get("kind")) in _FORBIDDEN_OWNERS:
            text = f"/{version}, Kind={owner['kind']} is disallowed from being an owner"
            errors.append(invalid(path, GoSyntax(_in_go_order(owner)), text))
        if owner.get("controller"):
            if controller is not None:
                text = (
                    f'Only one reference can have Controller set to true. Found "true" in '
                    f"references for {controller} and {_named(owner)}"
                )
                errors.append(invalid(path, owner_text(), text))
            else:
                controller = _named(owner)
    return errors


def _version_of(api_version: str) -> str:
    try:
        return GroupVersion.parse(api_version).version
    except ValueError:
        return ""


def _named(owner: Mapping[str, Any]) -> str:
    return f"{owner.get('kind', '')}/{owner.get('name', '')}"


def _in_go_order(owner: Mapping[str, Any]) -> str:
    """An OwnerReference as Go's encoder prints the struct."""
    members = {k: owner.get(k, "") for k in ("apiVersion", "kind", "name", "uid")}
    members |= {
        k: owner[k] for k in ("controller", "blockOwnerDeletion") if owner.get(k) is not None
    }
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False)


def _finalizer_errors(finalizers: Sequence[str], path: FieldPath) -> FieldErrors:
    errors = [
        invalid(path, name, text) for name in finalizers for text in names.qualified_name(name)
    ]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        errors.append(
            invalid(
                path, list(finalizers), f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
            )
        )
    return errors


def standard_finalizer_errors(metadata: Metadata, path: FieldPath) -> FieldErrors:
    """Names without a domain must be among Kubernetes' own."""
    if not metadata.get("finalizers"):
        return []
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(path.child("finalizers").at(i), name, text)
        for i, name in enumerate(metadata["finalizers"])
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]
