"""StorageClass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, duplicate, invalid, required, too_long
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.nodelabels import DEPRECATED
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object, frozen
from apiserver.meta.times import age

_MOST_PARAMETERS = 512
_MODES = ["Immediate", "WaitForFirstConsumer"]
_IMMUTABLE = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


@register("storage.k8s.io", "StorageClass")
class StorageClass(Kind):
    returns_deleted = True
    generation = False
    declared = Declared(
        {
            "provisioner": [t.alpha(t.required()), t.alpha(t.immutable())],
            "parameters": [t.alpha(t.immutable()), t.alpha(t.optional())],
            "reclaimPolicy": [t.alpha(t.immutable()), t.alpha(t.optional())],
            "volumeBindingMode": [t.alpha(t.immutable()), t.alpha(t.optional())],
        }
    )

    def default(self, obj: Object, version: str) -> None:
        if obj.get("reclaimPolicy") is None:
            obj["reclaimPolicy"] = "Delete"
        if obj.get("volumeBindingMode") is None:
            obj["volumeBindingMode"] = "Immediate"

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        changed = [
            e
            for name in _IMMUTABLE
            for e in c.immutable(
                _given(obj, name), _given(old, name), FieldPath(name), quote=_as_sent(name, context)
            )
        ]
        return list(covered(changed, "immutable"))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        out = []
        for i, term in enumerate(obj.get("allowedTopologies") or []):
            for j, expression in enumerate(term.get("matchLabelExpressions") or []):
                why = DEPRECATED.get(expression.get("key", ""))
                if why:
                    out.append(f"allowedTopologies[{i}].matchLabelExpressions[{j}].key: {why}")
        return out

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        default = (metadata.get("annotations") or {}).get(
            "storageclass.kubernetes.io/is-default-class"
        ) == "true"
        beta = (metadata.get("annotations") or {}).get(
            "storageclass.beta.kubernetes.io/is-default-class"
        ) == "true"
        return [
            f"{metadata['name']} (default)" if default or beta else metadata["name"],
            obj.get("provisioner", ""),
            obj.get("reclaimPolicy") or "Delete",
            obj.get("volumeBindingMode") or "Immediate",
            bool(obj.get("allowVolumeExpansion")),
            age(metadata.get("creationTimestamp"), now),
        ]


def _given(obj: Object, name: str) -> Any:
    """null and empty are equal, but for the provisioner, which is never null."""
    return obj.get(name) or ("" if name == "provisioner" else None)


def _as_sent(name: str, context: WriteContext) -> Callable[[Any], Any]:
    """How messages show it: a map that was sent empty is no null."""
    was_empty = any(empty.path == (name,) for empty in context.empties)
    return lambda value: {} if value is None and was_empty else value


def _errors(obj: Object) -> c.Errors:
    provisioner = obj.get("provisioner", "")
    if not provisioner:
        yield from covered([required("provisioner")])
    else:
        yield from provisioner_errors(provisioner, "provisioner")
    yield from parameter_errors(obj.get("parameters"))
    if obj.get("reclaimPolicy"):
        yield from c.one_of(obj["reclaimPolicy"], FieldPath("reclaimPolicy"), ["Delete", "Retain"])
    yield from c.one_of(
        obj.get("volumeBindingMode"), FieldPath("volumeBindingMode"), _MODES, empty=True
    )
    yield from c.few(_topologies(obj.get("allowedTopologies") or []))


def provisioner_errors(name: str, path: str) -> c.Errors:
    """The name of a driver or provisioner that is set: a qualified name but for its case, which is
    also lost where it is quoted."""
    for text in names.label_key(name.lower()):
        yield invalid(path, name.lower(), text)


def parameter_errors(parameters: Object | None) -> c.Errors:
    """``parameters`` of a class: at most 512, no empty key, 256 KiB in all."""
    if not parameters:
        return
    if len(parameters) > _MOST_PARAMETERS:
        yield too_long("parameters", _MOST_PARAMETERS)
        return
    if "" in parameters:
        yield invalid("parameters", "", "field can not be empty.")
    if sum(len(k.encode()) + len(v.encode()) for k, v in parameters.items()) > 256 * 1024:
        yield too_long("parameters", 256 * 1024)


def _topologies(terms: list[Object]) -> c.Errors:
    """A term without expressions equals each of the terms that upstream makes room for."""
    seen = Counter[Hashable]({frozen({}): len(terms)})
    for i, term in enumerate(terms):
        path = FieldPath("allowedTopologies").at(i)
        values_by_key: dict[str, frozenset[str]] = {}
        for j, expression in enumerate(term.get("matchLabelExpressions") or []):
            at, key, values = (
                path.child("matchLabelExpressions").at(j),
                expression.get("key", ""),
                expression.get("values") or [],
            )
            if not values:
                yield required(at.child("values"))
            yield from c.unique(values, at.child("values"))
            yield from c.qualified_name(key, at.child("key"))
            if key in values_by_key:
                yield duplicate(at.child("key"), key)
            values_by_key[key] = frozenset(values)
        for _ in range(seen[frozen(values_by_key)]):
            yield duplicate(path.child("matchLabelExpressions"), "")
        seen[frozen(values_by_key)] += 1
