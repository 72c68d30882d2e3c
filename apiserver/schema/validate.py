"""Value validation of custom resources, with kube-openapi's rules and messages
(``pkg/validation/validate``).

Each node is compiled at its first use into one closure ``(value, old, path, errors) -> matches``.
Paths are linked tuples that become text only for an error. ``matches`` is kube-openapi's match
count: of several alternatives (anyOf, oneOf) that all fail, the one with the highest count is the
one whose errors are shown. ``old`` is the Correlation of the value with the stored one, where they
can be correlated: what is invalid but unchanged stays allowed (CRDValidationRatcheting).
Alternatives do not look at the parts of a value in that way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.fielderrors import (
    FieldError,
    FieldErrors,
    FieldPath,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from apiserver.golang.math import is_int64, is_integral
from apiserver.golang.regexp import RegexError, TooExpensive, matches, parse_regex
from apiserver.golang.strconv import go_quote
from apiserver.meta.equality import equal
from apiserver.schema.correlate import Correlation
from apiserver.schema.formats import check_of, recognized
from apiserver.schema.types import MISSING, Schema
from apiserver.schema.validate_alternatives import Node, Old, alternatives
from apiserver.schema.validate_errors import ROOT, Path, text_of, type_error
from apiserver.schema.validate_numbers import number_check
from apiserver.schema.values import enum_text


def validate(
    schema: Schema, value: Any, *, old: Any = MISSING, base: FieldPath = ROOT
) -> FieldErrors:
    """What is wrong with a value. ``old``: the stored value, for an update. ``base``: where the
    value stands; messages name fields below it without it, as kube-apiserver's do (``spec.a: ... a
    in body must be ...``)."""
    errors: FieldErrors = []
    correlation = Correlation(value, old, schema) if old is not MISSING else None
    node_of(schema)(value, correlation, None, errors)
    if not errors or (correlation is not None and correlation.unchanged()):
        return []
    distinct = {(e.path, e.body()): e for e in errors}
    for error in distinct.values():
        below = error.path.removeprefix(".")
        error.path = f"{base}.{below}" if base and below else base or below
    return list(distinct.values())


def node_of(schema: Schema) -> Node:
    """The compiled check of a node."""
    node: Node | None = schema.cache.get("validate")
    if node is None:
        node = schema.cache["validate"] = _compile(schema)
    return node


_TYPE_META = ("apiVersion", "kind")
"""Of the whole object these are the same in both, as both are in the version of the request."""
_ASKED = {str: 1, int: 2, float: 2, list: 2, dict: 1}
"""What a value's own check adds to the match count where there is nothing to check."""

_TYPES = {str: "string", bool: "boolean", list: "array", dict: "object", float: "number"}


def json_type(value: Any) -> str:
    if type(value) is int:
        return "integer" if is_int64(value) else "number"
    return _TYPES.get(type(value), "null")


def _compile(schema: Schema) -> Node:
    types = ("integer", "string") if schema.int_or_string else (schema.type,) if schema.type else ()
    format_ = (
        schema.format if recognized("" if len(types) != 1 else types[0], schema.format) else ""
    )
    check_type = _type_check(types, format_, nullable=schema.nullable)
    junctors = alternatives(schema, node_of)
    by_type: dict[type, Node | None] = {
        str: _string(schema, format_),
        int: (number := number_check(schema, types, format_)),
        float: number,
        list: _list(schema),
        dict: _object(schema),
    }
    enum = _enum(schema)

    def check(value: Any, old: Old, path: Path, errors: FieldErrors) -> int:
        count = 1
        before = len(errors)
        if check_type is not None:
            check_type(value, path, errors)
            count += 2 if len(errors) == before else 1
        if value is None:
            if enum is not None:
                enum(value, path, errors)
            return 1 if len(errors) == before else 0
        if junctors is not None:
            count += junctors(value, None, path, errors)
        count += 3  # alternatives (asked, matched) and enum (asked)
        part = by_type.get(type(value))
        count += _ASKED.get(type(value), 0) if part is None else 1 + part(value, old, path, errors)
        if enum is not None:
            enum(value, path, errors)
        return count

    return check


# --- type, enum -----------------------------------------------------------------------------------


def _type_check(
    types: tuple[str, ...], format_: str, *, nullable: bool
) -> Callable[[Any, Path, FieldErrors], None] | None:
    if not types and not format_:
        return None
    exact = (
        {"string": str, "boolean": bool, "array": list, "object": dict}.get(types[0])
        if len(types) == 1
        else None
    )
    type_names = ",".join(types)
    numeric = "integer" in types or "number" in types

    def check(value: Any, path: Path, errors: FieldErrors) -> None:
        if type(value) is exact:
            return
        if value is None:
            if types and not nullable:
                errors.append(type_error(path, type_names, "null"))
            return
        actual = json_type(value)
        fits = (
            actual in types
            or (actual == "number" and "integer" in types and is_integral(value))
            or (actual == "integer" and "number" in types)
        )
        if fits:
            return
        text = actual in ("string", "array")
        if format_ and not text:
            go_type = {"integer": "int64", "number": "float64"}.get(actual, "")
            errors.append(type_error(path, format_, go_type))
        elif not (format_ and text and not numeric):
            errors.append(type_error(path, type_names, actual))

    return check


def _enum(schema: Schema) -> Callable[[Any, Path, FieldErrors], None] | None:
    if schema.enum is None:
        return None
    values = schema.enum
    strings = frozenset(v for v in values if type(v) is str)
    texts = [enum_text(v) for v in values]

    def check(value: Any, path: Path, errors: FieldErrors) -> None:
        if type(value) is str and value in strings:
            return
        if value is None or not any(_matches_enum(value, allowed) for allowed in values):
            errors.append(not_supported(text_of(path), value, texts))

    return check


def _matches_enum(value: Any, allowed: Any) -> bool:
    """Go converts the value to the type of the allowed one first: a fraction is cut off, a number
    becomes a character."""
    if allowed is None:
        return False
    if type(value) is float and type(allowed) is int:
        return int(value) == allowed
    if type(value) is int and type(allowed) is str:
        return (chr(value) if 0 <= value < 0x110000 else "\ufffd") == allowed
    if type(value) is int and type(allowed) is float:
        return float(value) == allowed
    return equal(value, allowed)


# --- strings, lists, objects ----------------------------------------------------------------------


def _string(schema: Schema, format_: str) -> Node | None:
    longest, shortest, pattern = schema.max_length, schema.min_length, schema.pattern
    check_format = check_of(format_) if format_ else None
    if longest is None and shortest is None and not pattern and check_format is None:
        return None
    broken = ""
    if pattern:
        try:
            parse_regex(pattern)
        except RegexError as e:
            broken = f", but pattern is invalid: {e}"

    def check(value: str, old: Old, path: Path, errors: FieldErrors) -> int:
        if longest is not None and len(value) > longest:
            errors.append(too_long(text_of(path), longest))
        elif shortest is not None and len(value) < shortest:
            where = text_of(path)
            errors.append(
                invalid(where, value, f"{where} in body should be at least {shortest} chars long")
            )
        elif pattern and (why := broken or _mismatch(pattern, value)) is not None:
            where = text_of(path)
            errors.append(invalid(where, value, f"{where} in body should match '{pattern}{why}'"))
        if check_format is not None and not check_format(value):
            where = text_of(path)
            errors.append(
                type_invalid(
                    where, value, f"{where} in body must be of type {format_}: {go_quote(value)}"
                )
            )
        return 1 if check_format is not None else 0

    return check


def _mismatch(pattern: str, value: str) -> str | None:
    """None when it matches, else what to say beside the pattern. The compiled pattern is not kept
    here, so that its memory is bounded."""
    try:
        return None if matches(pattern, value) else ""
    except TooExpensive:
        return ", but that takes too long to find out"


def _list(schema: Schema) -> Node | None:
    items = schema.items
    keyed = schema.list_type == "map"
    least, most, unique = schema.min_items, schema.max_items, schema.unique_items
    item: Node | None = None

    def check(value: list[Any], old: Old, path: Path, errors: FieldErrors) -> int:
        nonlocal item
        count = 1
        if items is not None:
            if item is None:
                item = node_of(items)
            for i, member in enumerate(value):
                before = len(errors)
                was = old.index(i) if old is not None and keyed else None
                count += item(member, was, (path, i), errors)
                if len(errors) > before and was is not None and was.unchanged():
                    del errors[before:]
        size = len(value)
        if least is not None and size < least:
            where = text_of(path)
            errors.append(
                invalid(where, size, f"{where} in body should have at least {least} items")
            )
        if most is not None and size > most:
            errors.append(too_many(text_of(path), size, most))
        if unique and any(equal(a, b) for i, a in enumerate(value) for b in value[:i]):
            where = text_of(path)
            errors.append(invalid(where, "", f"{where} in body shouldn't contain duplicates"))
        return count

    return check


def _object(schema: Schema) -> Node | None:
    properties = schema.properties or {}
    additional, required_names = schema.additional, schema.required
    closed = schema.extensions.get("additionalProperties") is False
    check_size = _size_of_object(schema)
    if not (properties or additional or required_names or check_size or closed):
        return None
    nodes: dict[str, Node] = {}
    node = _first_use(properties, additional, nodes)

    def check(value: dict[str, Any], old: Old, path: Path, errors: FieldErrors) -> int:
        count = 0
        if check_size is not None:
            check_size(len(value), path, errors)
        for name, member in value.items():
            if closed and name not in properties:
                errors.append(_forbidden(name, text_of(path)))
                continue
            member_check = nodes.get(name) or node(name)
            if member_check is None:
                continue
            before, was = len(errors), None
            if old is not None and (path is not None or name not in _TYPE_META):
                was = old.key(name)
            step = f".{name}" if path is None and name not in properties else name
            count += member_check(member, was, (path, step), errors)
            if len(errors) > before and was is not None and was.unchanged():
                del errors[before:]
        for name in required_names:
            if name not in value:
                errors.append(required(text_of((path, name))))
        return count

    return check


def _first_use(
    properties: Mapping[str, Schema], additional: Schema | None, nodes: dict[str, Node]
) -> Callable[[str], Node | None]:
    """The check of a member that is not in ``nodes`` yet; those of properties are kept there."""

    def node(name: str) -> Node | None:
        member = properties.get(name, additional)
        if member is None:
            return None
        member_node = node_of(member)
        if name in properties:
            nodes[name] = member_node
        return member_node

    return node


def _size_of_object(schema: Schema) -> Callable[[int, Path, FieldErrors], None] | None:
    least, most = schema.min_properties, schema.max_properties
    if least is None and most is None:
        return None

    def check(size: int, path: Path, errors: FieldErrors) -> None:
        if least is not None and size < least:
            where = text_of(path)
            errors.append(
                invalid(where, size, f"{where} in body should have at least {least} properties")
            )
        if most is not None and size > most:
            errors.append(too_many(text_of(path), size, most))

    return check


def _forbidden(name: str, where: str) -> FieldError:
    return invalid(where, name, f"{where}.{name} in body is a forbidden property")
