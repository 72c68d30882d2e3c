"""Defaults in a schema must themselves be valid (k8s.io/apiextensions-apiserver
``schema/defaulting/validation.go``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from apiserver.cel.kubernetes.rulenodes import compile_rules
from apiserver.cel.kubernetes.rules import validate as run_rules
from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.kinds.apiextensions.embedded import validate_embedded
from apiserver.meta.equality import equal
from apiserver.meta.objects import copy_json
from apiserver.schema.embedded import CoerceError, coerce_embedded
from apiserver.schema.prune import prune
from apiserver.schema.types import MISSING, Schema
from apiserver.schema.validate import validate
from apiserver.schema.validate_errors import ROOT

_META = ("metadata", "apiVersion", "kind")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node stands. resource: the schema of the resource that it is in, the whole one or an
    embedded one; steps: from there to here, None for the items of a list; in_meta: whether they
    lead through metadata, apiVersion or kind; pruned: unknown fields in defaults are errors."""

    resource: Schema
    steps: tuple[str | None, ...] = ()
    in_meta: bool = False
    pruned: bool = True


def default_errors(schema: Schema, path: FieldPath, *, pruned: bool = True) -> FieldErrors:
    """``schema``: of a whole resource; ``path``: of the schema; ``pruned``: unknown fields in
    defaults are errors."""
    return _errors(schema, path, _Place(schema, pruned=pruned))


def _errors(schema: Schema, path: FieldPath, place: _Place) -> FieldErrors:
    if not schema.below.defaults:
        return []
    if schema.embedded_resource:
        place = _Place(schema, pruned=place.pruned)
    errors: FieldErrors = []
    if schema.default is not MISSING and schema.default is not None:
        problems = (
            _in_meta(schema, path.child("default"), place)
            if place.in_meta
            else _of_node(schema, path.child("default"), place)
        )
        errors += problems
    if schema.items is not None:
        errors += _errors(
            schema.items, path.child("items"), replace(place, steps=(*place.steps, None))
        )
    for name, member in (schema.properties or {}).items():
        inside = place.in_meta or (not place.steps and name in _META)
        errors += _errors(
            member,
            path.child("properties").key(name),
            replace(place, steps=(*place.steps, name), in_meta=inside),
        )
    return errors


def _in_meta(schema: Schema, path: FieldPath, place: _Place) -> FieldErrors:
    """A default somewhere in the metadata, the apiVersion or the kind of a resource has to make a
    good one of it."""
    whole = copy_json(schema.default)
    for step in reversed(place.steps):
        whole = [whole] if step is None else {step: whole}
    whole = {"kind": "Validation", "apiVersion": "validation/v1", **whole}
    try:
        coerce_embedded(place.resource, whole, ROOT, [], root=True)
    except CoerceError as e:
        return [invalid(path, schema.default, f"must result in valid metadata: {e}")]
    texts = list(dict.fromkeys(str(e) for e in validate_embedded(place.resource, whole, root=True)))
    if texts:
        why = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return [invalid(path, schema.default, f"must result in valid metadata: {why}")]
    return _value_errors(schema, schema.default, path, resource=False)


def _of_node(schema: Schema, path: FieldPath, place: _Place) -> FieldErrors:
    resource = not place.steps
    errors: FieldErrors = []
    value: Any = copy_json(schema.default)
    if place.pruned:
        prune(schema, value, root=resource)
        if not equal(value, schema.default):
            errors.append(invalid(path, schema.default, "must not have unknown fields"))
    value = copy_json(schema.default)
    try:
        coerce_embedded(schema, value, path, [], root=resource)
    except CoerceError as e:
        return [*errors, e.error]
    return errors + (
        validate_embedded(schema, value, path, root=resource)
        or _value_errors(schema, value, path, resource=resource)
    )


def _value_errors(schema: Schema, value: Any, path: FieldPath, *, resource: bool) -> FieldErrors:
    """Of the schema, and of its rules: for a value that stays, and for one that is new."""
    errors = validate(schema, value, base=path)
    if not errors and schema.below.rules:
        rules = compile_rules(schema, resource)
        errors = (
            run_rules(rules, value, value, path).errors
            or run_rules(rules, value, None, path).errors
        )
    return errors
