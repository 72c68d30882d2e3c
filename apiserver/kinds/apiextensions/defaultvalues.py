"""Defaults in a schema must themselves be valid (k8s.io/apiextensions-apiserver ``schema/defaulting/validation.go``)."""

from __future__ import annotations

from apiserver.cel.rules import compile_rules
from apiserver.cel.rules import validate as run_rules
from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.meta.objects import copy_json
from apiserver.schema.embedded import validate_embedded
from apiserver.schema.prune import prune
from apiserver.schema.types import MISSING, Schema
from apiserver.schema.validate import validate
from apiserver.schema.values import same

_META = ("metadata", "apiVersion", "kind")


def default_errors(schema: Schema, path: FieldPath, *, root: bool = True, in_meta: bool = False, pruned: bool = True) -> FieldErrors:
    """``root``: the schema is of a whole resource; ``pruned``: unknown fields in defaults are errors."""
    if "defaults" not in schema.cache.get("below", ()):
        return []
    errors: FieldErrors = []
    resource = root or schema.embedded_resource
    if schema.default is not MISSING and schema.default is not None:
        errors += _one(schema, path.child("default"), resource, in_meta and not schema.embedded_resource, pruned)
    if schema.items is not None:
        errors += default_errors(schema.items, path.child("items"), root=False, in_meta=in_meta, pruned=pruned)
    for name, member in (schema.properties or {}).items():
        inside = (in_meta and not resource) or (resource and name in _META)
        errors += default_errors(member, path.child("properties").key(name), root=False, in_meta=inside, pruned=pruned)
    return errors


def _one(schema: Schema, path: FieldPath, resource: bool, in_meta: bool, pruned: bool) -> FieldErrors:
    value = schema.default
    errors: FieldErrors = []
    if pruned and not in_meta:
        copied = copy_json(value)
        prune(schema, copied, root=resource)
        if not same(copied, value):
            errors.append(invalid(path, value, "must not have unknown fields"))
    embedded = [] if in_meta else validate_embedded(schema, value, path, root=resource)
    found = embedded or validate(schema, value, base=path)
    if not found and "rules" in schema.cache.get("below", ()):
        rules = compile_rules(schema, resource)
        found = run_rules(rules, value, value, path).errors or run_rules(rules, value, None, path).errors
    return errors + found
