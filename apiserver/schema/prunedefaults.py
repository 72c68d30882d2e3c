"""Defaults in and around embedded resources, without what reading the resource would drop
(k8s.io/apiextensions-apiserver ``schema/defaulting/prune.go``): a default may name fields of
metadata that no ObjectMeta has."""

from __future__ import annotations

from typing import Any

from apiserver.fielderrors import FieldPath
from apiserver.meta.objects import copy_json
from apiserver.schema.embedded import coerce_embedded
from apiserver.schema.prune import prune
from apiserver.schema.types import MISSING, Schema

_CACHE = "pruned default"
Steps = tuple[str | None, ...]
"""Members on the way to a node; None for the items of a list, "*" for the values of a map."""


def default_of(schema: Schema) -> Any:
    """The default that objects get; None for none, because a default of null fills nothing in."""
    default = schema.cache.get(_CACHE, schema.default)
    return None if default is MISSING else default


def prune_defaults(root: Schema) -> None:
    """For all nodes of the schema of a whole resource, once."""
    if root.below.defaults and root.below.embedded and _CACHE not in root.cache:
        _walk(root, root, (), inside=False)
        root.cache[_CACHE] = (
            root.default
        )  # last: it says that all others are there, to other threads, too


def _walk(root: Schema, schema: Schema, steps: Steps, *, inside: bool) -> None:
    inside = inside or schema.embedded_resource
    if not schema.below.defaults or not (inside or schema.below.embedded):
        return
    if schema.default is not MISSING and schema.default is not None and steps:
        schema.cache[_CACHE] = _pruned(root, steps, schema.default)
    for step, member in (("*", schema.additional), (None, schema.items)):
        if member is not None:
            _walk(root, member, (*steps, step), inside=inside)
    for name, member in (schema.properties or {}).items():
        _walk(root, member, (*steps, name), inside=inside)


def _pruned(root: Schema, steps: Steps, default: Any) -> Any:
    whole: Any = copy_json(default)
    for step in reversed(steps):
        whole = [whole] if step is None else {step: whole}
    coerce_embedded(root, whole, FieldPath(""), [], root=True, lenient=True)
    prune(root, whole, root=True)
    for step in steps:
        if step is None:
            whole = whole[0]
        elif step in whole:
            whole = whole[step]
        else:
            return MISSING
    return whole
