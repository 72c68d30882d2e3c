"""What device claims, classes and slices have in common: names, selectors, configurations, taints
and tolerations.

Source of rules and texts: k8s.io/kubernetes ``apis/resource/validation``. Errors are marked as
`covered` where upstream 1.36 declares the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from apiserver.cel.kubernetes.devices import selector_errors
from apiserver.fielderrors import (
    ErrorType,
    FieldPath,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.volumesources import csi_driver_name
from apiserver.kinds.declarative.run import covered
from apiserver.meta import names
from apiserver.meta.objects import Object, seen_before
from apiserver.meta.raw import RawObject

driver_name = csi_driver_name
"""The rules of CSI drivers' names, and their texts."""

_EFFECTS = ["NoExecute", "NoSchedule", "None"]
_OPERATORS = ["Equal", "Exists"]
_MOST_SELECTORS, MOST_CONFIGS = 32, 32
_EXPRESSION_BYTES, _PARAMETERS_BYTES, _IDENTIFIER_BYTES, _POOL_BYTES = 10 * 1024, 10 * 1024, 32, 253
_UNKNOWN_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a "
    "subrequest separated by '/'"
)

Names = Mapping[str, set[str]]
"""Names of a claim's requests → names of their alternatives."""


def each(
    items: Sequence[Any] | None,
    most: int,
    check: Callable[[Any, FieldPath], c.Errors],
    path: FieldPath,
) -> c.Errors:
    """Of a list that is too long, nothing else is said."""
    entries = items or ()
    if len(entries) > most:
        yield from covered([too_many(path, len(entries), most)], "maxItems")
        return
    for i, item in enumerate(entries):
        yield from check(item, path.at(i))


def each_once(
    items: Sequence[Any] | None,
    most: int,
    check: Callable[[Any, FieldPath], c.Errors],
    key: Callable[[Any], str],
    path: FieldPath,
) -> c.Errors:
    yield from each(items, most, check, path)
    seen: set[str] = set()
    for i, item in enumerate(items or () if len(items or ()) <= most else ()):
        if key(item) in seen:
            yield duplicate(path.at(i), key(item))
        seen.add(key(item))


def pool_name(name: str, path: FieldPath) -> c.Errors:
    if not name:
        yield required(path)
        return
    if len(name) > _POOL_BYTES:
        yield too_long(path, _POOL_BYTES)
    for part in name.split("/"):
        yield from c.dns_subdomain(part, path)


def qualified_name(name: str, path: FieldPath) -> c.Errors:
    """An identifier, with or without the domain of a driver; more than one "/" is let through, as
    upstream has it."""
    domain, *rest = name.split("/")
    if not rest:
        yield from _identifier(domain, path)
    elif len(rest) == 1:
        yield from (
            driver_name(domain, path)
            if domain
            else [invalid(path, "", "the domain must not be empty")]
        )
        yield from (
            _identifier(rest[0], path)
            if rest[0]
            else [invalid(path, "", "the name must not be empty")]
        )


def fully_qualified_name(name: str, path: FieldPath) -> c.Errors:
    yield from qualified_name(name, path)
    if "/" not in name:
        yield invalid(
            path, name, "a fully qualified name must be a domain and a name separated by a slash"
        )


def _identifier(name: str, path: FieldPath) -> c.Errors:
    if len(name) > _IDENTIFIER_BYTES:
        yield too_long(path, _IDENTIFIER_BYTES)
    yield from c.rule(name, path, names.c_identifier)


def request_reference(name: str, path: FieldPath, request_names: Names) -> c.Errors:
    segments = name.split("/")
    if len(segments) > 2:
        yield invalid(path, name, _UNKNOWN_REQUEST)
        return
    for segment in segments:
        yield from c.dns_label(segment, path)
    if segments[0] not in request_names or (
        len(segments) == 2 and segments[1] not in request_names[segments[0]]
    ):
        yield invalid(path, name, _UNKNOWN_REQUEST)


def selectors(values: Sequence[Object] | None, path: FieldPath) -> c.Errors:
    return each(values, _MOST_SELECTORS, _selector, path)


def _selector(selector: Object, path: FieldPath) -> c.Errors:
    if selector.get("cel") is None:
        yield required(path.child("cel"))
        return
    source, at = selector["cel"].get("expression") or "", path.child("cel", "expression")
    if len(source.encode()) > _EXPRESSION_BYTES:
        yield too_long(at, _EXPRESSION_BYTES)
    else:
        yield from selector_errors(source, at)


def configuration(config: Object, path: FieldPath) -> c.Errors:
    """Of a claim or of a class: who is to be configured is the claim's affair."""
    opaque = config.get("opaque")
    if opaque is None:
        yield required(path.child("opaque"))
        return
    yield from _covered_driver(opaque.get("driver") or "", path.child("opaque", "driver"))
    yield from raw_object(
        opaque.get("parameters"), path.child("opaque", "parameters"), _PARAMETERS_BYTES
    )


def _covered_driver(name: str, path: FieldPath) -> c.Errors:
    for error in driver_name(name, path):
        origin = {
            ErrorType.INVALID: "format=k8s-long-name-caseless",
            ErrorType.TOO_LONG: "maxLength",
        }.get(error.type, "")
        yield from covered([error], origin)


def raw_object(value: Any, path: FieldPath, most: int) -> c.Errors:
    """A RawExtension that must hold a JSON object. most: bytes of it."""
    text = value.text.encode() if isinstance(value, RawObject) else orjson.dumps(value)
    if value is None:
        yield required(path)
    elif len(text) > most:
        yield too_long(path, most)
    elif not isinstance(value, dict):
        yield invalid(path, "<value omitted>", "must be a valid JSON object")


def toleration(value: Object, path: FieldPath) -> c.Errors:
    key, operator, effect, given_value = (
        value.get(member) or "" for member in ("key", "operator", "effect", "value")
    )
    if key:
        yield from c.qualified_name(key, path.child("key"))
    if operator == "Exists" and given_value:
        yield invalid(path.child("value"), given_value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from c.label_value(given_value, path.child("value"))
    elif operator != "Exists":
        yield from c.one_of(operator, path.child("operator"), _OPERATORS)
    if effect and effect not in _EFFECTS:
        yield not_supported(path.child("effect"), effect, _EFFECTS)


def taint(value: Object, path: FieldPath) -> c.Errors:
    yield from c.qualified_name(value.get("key") or "", path.child("key"))
    if value.get("value"):
        yield from c.label_value(value["value"], path.child("value"))
    yield from c.one_of(value.get("effect") or "", path.child("effect"), _EFFECTS)


def binding_conditions(obj: Object, path: FieldPath) -> c.Errors:
    """Of a device in a slice, or of one that is allocated."""
    conditions, failures = (
        obj.get("bindingConditions") or [],
        obj.get("bindingFailureConditions") or [],
    )
    at, failed_at = path.child("bindingConditions"), path.child("bindingFailureConditions")
    yield from each(conditions, 4, c.qualified_name, at)
    yield from each(failures, 4, c.qualified_name, failed_at)
    yield from (
        duplicate(at.at(i), conditions[i])
        for i, again in enumerate(seen_before(conditions))
        if again
    )
    needed = frozenset(conditions)
    for i, (name, again) in enumerate(zip(failures, seen_before(failures), strict=True)):
        if again:
            yield duplicate(failed_at.at(i), name)
        if name in needed:
            yield invalid(
                failed_at.at(i),
                name,
                "bindingFailureConditions must not overlap with bindingConditions",
            )
    if failures and not conditions:
        yield invalid(at, None, "bindingConditions are required to use bindingFailureConditions")
    if conditions and not failures:
        yield invalid(
            failed_at, None, "bindingFailureConditions are required to use bindingConditions"
        )
