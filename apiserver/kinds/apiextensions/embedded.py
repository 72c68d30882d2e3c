"""What embedded resources (x-kubernetes-embedded-resource) must hold: apiVersion and kind that make
sense, and metadata that would do for an object (k8s.io/apiextensions-apiserver
``schema/objectmeta/validation.go``)."""

from __future__ import annotations

from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.kinds.common import namerules
from apiserver.kinds.common.objectmeta import identity_errors, shared_errors
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.names import dns1035_label
from apiserver.schema.decode import DecodeError
from apiserver.schema.embedded import read_metadata
from apiserver.schema.types import Schema
from apiserver.schema.validate_errors import ROOT


def validate_embedded(
    schema: Schema, value: Any, path: FieldPath = ROOT, *, root: bool = False
) -> FieldErrors:
    """``root``: the value itself is a resource whatever the schema says."""
    if not root and not schema.below.embedded:
        return []
    errors: FieldErrors = []
    if type(value) is dict:
        if root or schema.embedded_resource:
            errors += _resource(value, path)
        properties, additional = schema.properties or {}, schema.additional
        for name, member in value.items():
            if name in properties:
                errors += validate_embedded(properties[name], member, path.child(name))
            elif additional is not None:
                errors += validate_embedded(additional, member, path.key(name))
    elif type(value) is list and schema.items is not None:
        for i, item in enumerate(value):
            errors += validate_embedded(schema.items, item, path.at(i))
    return errors


def _resource(value: dict[str, Any], path: FieldPath) -> FieldErrors:
    errors: FieldErrors = [
        required(path.child(name)) for name in ("apiVersion", "kind") if name not in value
    ]
    for name, check in (("apiVersion", _version), ("kind", _kind)):
        if name in value:
            resource = value[name]
            if type(resource) is not str:
                errors.append(invalid(path.child(name), resource, "must be a string"))
            elif not resource:
                errors.append(invalid(path.child(name), resource, "must not be empty"))
            elif why := check(resource):
                errors.append(invalid(path.child(name), resource, why))
    return errors + (
        _metadata(value["metadata"], path.child("metadata")) if "metadata" in value else []
    )


def _version(text: str) -> str:
    try:
        GroupVersion.parse(text)
    except ValueError as e:
        return str(e)
    return ""


def _kind(text: str) -> str:
    problems = dns1035_label(text.lower())
    return (
        "may have mixed case, but should otherwise match: " + ",".join(problems) if problems else ""
    )


def _metadata(value: Any, path: FieldPath) -> FieldErrors:
    """A name is not asked for, and a namespace neither asked for nor refused."""
    try:
        metadata = read_metadata(value, path, [])
    except DecodeError as e:
        return [invalid(path, value, str(e))]
    named = {**metadata, "name": metadata.get("name") or "fakename"}
    errors = identity_errors(
        named, path, namespaced=bool(metadata.get("namespace")), name_rule=namerules.path_segment
    )
    return errors + shared_errors(metadata, path)
