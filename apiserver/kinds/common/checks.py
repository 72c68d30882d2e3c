"""Field checks that every kind uses: a value and its path in, field errors out.

All functions are generators, so that a validator is a list of ``yield from``; Kind hooks collect
them with list(). Source of rules and texts: k8s.io/apimachinery ``api/validation`` and
k8s.io/kubernetes ``apis/core/validation``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import eq
from typing import Any

from apiserver.errors import MOST_ERRORS
from apiserver.fielderrors import (
    FieldError,
    FieldPath,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from apiserver.meta import names
from apiserver.schema.decode_errors import Empty

Errors = Iterator[FieldError]
NOWHERE = FieldPath("[]")
"""What Go prints for a path that names no field: the error is about the whole object."""
NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
IMMUTABLE = "field is immutable"


def root(*members: str) -> FieldPath:
    return FieldPath(".".join(members))


def rule(value: Any, path: FieldPath, check: Callable[[Any], Iterable[str]]) -> Errors:
    """One Invalid error for each text that ``check`` finds."""
    for text in check(value):
        yield invalid(path, value, text)


def name(
    value: str, path: FieldPath, validate: names.Validator = names.dns1123_subdomain
) -> Errors:
    """A reference to another object by name."""
    return rule(value, path, validate)


def dns_label(value: str, path: FieldPath) -> Errors:
    return rule(value, path, names.dns1123_label)


def dns_subdomain(value: str, path: FieldPath) -> Errors:
    return rule(value, path, names.dns1123_subdomain)


def qualified_name(value: str, path: FieldPath) -> Errors:
    """Label keys, condition types, finalizers: an optional DNS prefix, "/" and a name."""
    return rule(value, path, names.qualified_name)


def label_value(value: str, path: FieldPath) -> Errors:
    return rule(value, path, names.label_value)


def annotation_map(values: Mapping[str, str] | None, path: FieldPath) -> Errors:
    size = 0
    for key, value in sorted((values or {}).items()):
        for text in names.qualified_name(key.lower()):
            yield invalid(path, key, text)
        size += len(key.encode()) + len(value.encode())
    if size > names.MAX_ANNOTATIONS_BYTES:
        yield too_long(path, names.MAX_ANNOTATIONS_BYTES)


def non_negative(value: int | None, path: FieldPath) -> Errors:
    if value is not None and value < 0:
        yield invalid(path, value, NEGATIVE)


def positive(value: int | None, path: FieldPath) -> Errors:
    if value is not None and value <= 0:
        yield invalid(path, value, NOT_POSITIVE)


def non_negatives(obj: Mapping[str, Any], path: FieldPath, *fields: str) -> Errors:
    for field in fields:
        yield from non_negative(obj.get(field), path.child(field))


def one_of(value: Any, path: FieldPath, supported: Sequence[str], *, empty: bool = False) -> Errors:
    """``supported`` in the order in which it is shown. "" is Required, unless ``empty`` says that
    it is a value like others."""
    if not value and not empty:
        yield required(path)
    elif value not in supported:
        yield not_supported(path, value or "", list(supported))


def optional_one_of(value: Any, path: FieldPath, supported: Sequence[str]) -> Errors:
    """For pointers: None is fine, anything else must be one of ``supported`` ("" included)."""
    if value is not None and value not in supported:
        yield not_supported(path, value, list(supported))


def port_number(value: int, path: FieldPath) -> Errors:
    return rule(value, path, names.port_number)


def port(value: int | str, path: FieldPath) -> Errors:
    """An IntOrString port: a number or the name of a port."""
    return rule(value, path, names.port_number if isinstance(value, int) else names.port_name)


def immutable(
    new: Any,
    old: Any,
    path: FieldPath,
    *,
    quote: Callable[[Any], Any] | None = None,
    same: Callable[[Any, Any], bool] = eq,
) -> Errors:
    """null and absent are equal, as in Go. ``quote``: how messages show a struct; ``same``: whether
    two are alike, where ``==`` is too strict (quantities)."""
    if not same(new, old):
        yield invalid(path, quote(new) if quote is not None else new, IMMUTABLE)


def immutable_when_set(
    new: Mapping[str, Any], old: Mapping[str, Any], empties: Iterable[Empty], *fields: str
) -> Errors:
    """ConfigMaps and Secrets with ``immutable: true``: the flag stays, the data stays. An empty map
    (one of ``empties``: what decoding left out) is a change where there was none: Go compares with
    reflect.DeepEqual."""
    if not old.get("immutable"):
        return
    why = "field is immutable when `immutable` is set"
    if not new.get("immutable"):
        yield forbidden(root("immutable"), why)
    sent_empty = {empty.path for empty in empties}
    for field in fields:
        there = new.get(field) or {}
        if there != (old.get(field) or {}) or (not there and (field,) in sent_empty):
            yield forbidden(root(field), why)


def few(errors: Errors) -> Errors:
    """As many errors as an answer tells of and one more, where each item of one list may have one
    for each item of another."""
    return islice(errors, MOST_ERRORS + 1)


def unique(values: Iterable[str], path: FieldPath, *tail: str) -> Errors:
    """Duplicate errors at path[i].tail for values seen before; "" never repeats."""
    seen: set[str] = set()
    for i, value in enumerate(values):
        if value and value in seen:
            yield duplicate(path.at(i).child(*tail) if tail else path.at(i), value)
        seen.add(value)


def percent_or_number(value: int | str | None, path: FieldPath) -> Errors:
    """An IntOrString that counts pods: not negative, or a percentage."""
    if isinstance(value, str):
        yield from rule(value, path, names.percent)
    elif value is not None:
        yield from non_negative(value, path)


def not_above_100_percent(value: int | str | None, path: FieldPath) -> Errors:
    if isinstance(value, str) and not names.percent(value) and int(value[:-1]) > 100:
        yield invalid(path, value, "must not be greater than 100%")
