"""Value validation of custom resources, with kube-openapi's rules and messages (``pkg/validation/validate``).

Each node is compiled at its first use into one closure ``(value, old, path, errors) -> matches``. Paths are linked tuples that become text
only for an error. ``matches`` is kube-openapi's match count: of several alternatives (anyOf, oneOf) that all fail, the one with the highest
count is the one whose errors are shown. ``old`` is the Correlation of the value with the stored one, where they can be correlated: what is
invalid but unchanged stays allowed (CRDValidationRatcheting). Alternatives do not look at the parts of a value in that way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, go_quote, invalid, not_supported, required, too_long, too_many, type_invalid
from apiserver.schema.correlate import Correlation
from apiserver.schema.formats import check_of, recognized
from apiserver.schema.gonumbers import is_int64, is_integral
from apiserver.schema.goregex import RegexError, parse_regex
from apiserver.schema.types import MISSING, Schema
from apiserver.schema.validate_errors import ROOT, Path, text_of, type_error, whole
from apiserver.schema.validate_numbers import number_check
from apiserver.schema.values import enum_text, same

Old = Correlation | None
Node = Callable[[Any, Old, Path, FieldErrors], int]


def validate(schema: Schema, value: Any, *, old: Any = MISSING, base: FieldPath = ROOT) -> FieldErrors:
    """What is wrong with a value. ``old``: the stored value, for an update. ``base``: where the value stands; messages name fields
    below it without it, as kube-apiserver's do (``spec.a: ... a in body must be ...``)."""
    errors: FieldErrors = []
    correlation = Correlation(value, old, schema) if old is not MISSING else None
    node_of(schema)(value, correlation, None, errors)
    if not errors or (correlation is not None and correlation.unchanged()):
        return []
    distinct = {(e.path, e.body()): e for e in errors}
    for error in distinct.values():
        error.path = error.path if not base else f"{base}{'' if error.path[:1] in ('', '[') else '.'}{error.path}"
    return list(distinct.values())


def node_of(schema: Schema) -> Node:
    """The compiled check of a node."""
    found: Node | None = schema.cache.get("validate")
    if found is None:
        found = schema.cache["validate"] = _compile(schema)
    return found


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
    format_ = schema.format if recognized("" if len(types) != 1 else types[0], schema.format) else ""
    check_type = _type_check(types, format_, nullable=schema.nullable)
    junctors = _junctors(schema)
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


# --- type, enum -------------------------------------------------------------------------------------------------------------------


def _type_check(types: tuple[str, ...], format_: str, *, nullable: bool) -> Callable[[Any, Path, FieldErrors], None] | None:
    if not types and not format_:
        return None
    exact = {"string": str, "boolean": bool, "array": list, "object": dict}.get(types[0]) if len(types) == 1 else None
    wanted = ",".join(types)
    numeric = "integer" in types or "number" in types

    def check(value: Any, path: Path, errors: FieldErrors) -> None:
        if type(value) is exact:
            return
        if value is None:
            if types and not nullable:
                errors.append(type_error(path, wanted, "null"))
            return
        found = json_type(value)
        fits = (
            found in types
            or (found == "number" and "integer" in types and is_integral(value))
            or (found == "integer" and "number" in types)
        )
        if fits:
            return
        text = found in ("string", "array")
        if format_ and not text:
            shown = {"integer": "int64", "number": "float64"}.get(found, "")
            errors.append(type_error(path, format_, shown))
        elif not (format_ and text and not numeric):
            errors.append(type_error(path, wanted, found))

    return check


def _enum(schema: Schema) -> Callable[[Any, Path, FieldErrors], None] | None:
    if schema.enum is None:
        return None
    values = schema.enum
    strings = frozenset(v for v in values if type(v) is str)
    shown = [enum_text(v) for v in values]

    def check(value: Any, path: Path, errors: FieldErrors) -> None:
        if type(value) is str and value in strings:
            return
        if value is None or not any(_matches_enum(value, allowed) for allowed in values):
            errors.append(not_supported(text_of(path), value, shown))

    return check


def _matches_enum(value: Any, allowed: Any) -> bool:
    """Go converts the value to the type of the allowed one first: a fraction is cut off, a number becomes a character."""
    if allowed is None:
        return False
    if type(value) is float and type(allowed) is int:
        return int(value) == allowed
    if type(value) is int and type(allowed) is str:
        return (chr(value) if 0 <= value < 0x110000 else "\ufffd") == allowed
    if type(value) is int and type(allowed) is float:
        return float(value) == allowed
    return same(value, allowed)


# --- alternatives -----------------------------------------------------------------------------------------------------------------


def _junctors(schema: Schema) -> Node | None:
    parts = [
        part
        for part in (
            _any_of([*map(node_of, schema.any_of)]) if schema.any_of else None,
            _one_of([*map(node_of, schema.one_of)]) if schema.one_of else None,
            _all_of([*map(node_of, schema.all_of)]) if schema.all_of else None,
            _not(node_of(schema.not_)) if schema.not_ is not None else None,
        )
        if part is not None
    ]
    if not parts:
        return None
    return lambda value, old, path, errors: sum([part(value, old, path, errors) for part in parts])


def _any_of(nodes: list[Node]) -> Node:
    def check(value: Any, old: Old, path: Path, errors: FieldErrors) -> int:
        best, best_count = None, -1
        for node in nodes:
            own: FieldErrors = []
            count = node(value, old, path, own)
            if not own:
                return count
            if count > best_count:
                best, best_count = own, count
        errors.append(whole(f"{go_quote(text_of(path))} must validate at least one schema (anyOf)"))
        errors += best or ()
        return best_count

    return check


def _one_of(nodes: list[Node]) -> Node:
    def check(value: Any, old: Old, path: Path, errors: FieldErrors) -> int:
        best, best_count, valid, first = None, -1, 0, 0
        for node in nodes:
            own: FieldErrors = []
            count = node(value, old, path, own)
            if not own:
                valid += 1
                best = None
                first = first or count
            elif not valid and count > best_count:
                best, best_count = own, count
        if valid == 1:
            return first
        found = f"Found {valid} valid alternatives" if valid else "Found none valid"
        errors.append(whole(f"{go_quote(text_of(path))} must validate one and only one schema (oneOf). {found}"))
        errors += best or ()
        return max(best_count, 0) if best else 0

    return check


def _all_of(nodes: list[Node]) -> Node:
    def check(value: Any, old: Old, path: Path, errors: FieldErrors) -> int:
        count = valid = 0
        for node in nodes:
            before = len(errors)
            count += node(value, old, path, errors)
            valid += len(errors) == before
        if valid != len(nodes):
            none = "" if valid else ". None validated"
            errors.append(whole(f"{go_quote(text_of(path))} must validate all the schemas (allOf){none}"))
        return count

    return check


def _not(node: Node) -> Node:
    def check(value: Any, old: Old, path: Path, errors: FieldErrors) -> int:
        own: FieldErrors = []
        node(value, old, path, own)
        if not own:
            errors.append(whole(f"{go_quote(text_of(path))} must not validate the schema (not)"))
        return 0

    return check


# --- strings, lists, objects ------------------------------------------------------------------------------------------------------


def _string(schema: Schema, format_: str) -> Node | None:
    longest, shortest, pattern = schema.max_length, schema.min_length, schema.pattern
    check_format = check_of(format_) if format_ else None
    if longest is None and shortest is None and not pattern and check_format is None:
        return None
    found, broken = None, ""
    if pattern:
        try:
            found = parse_regex(pattern).search
        except RegexError as e:
            broken = f", but pattern is invalid: {e}"

    def check(value: str, old: Old, path: Path, errors: FieldErrors) -> int:
        if longest is not None and len(value) > longest:
            errors.append(too_long(text_of(path), longest))
        elif shortest is not None and len(value) < shortest:
            where = text_of(path)
            errors.append(invalid(where, value, f"{where} in body should be at least {shortest} chars long"))
        elif pattern and (found is None or found(value) is None):
            where = text_of(path)
            errors.append(invalid(where, value, f"{where} in body should match '{pattern}{broken}'"))
        if check_format is not None and not check_format(value):
            where = text_of(path)
            errors.append(type_invalid(where, value, f"{where} in body must be of type {format_}: {go_quote(value)}"))
        return 1 if check_format is not None else 0

    return check


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
            errors.append(invalid(where, size, f"{where} in body should have at least {least} items"))
        if most is not None and size > most:
            errors.append(too_many(text_of(path), size, most))
        if unique and any(same(a, b) for i, a in enumerate(value) for b in value[:i]):
            where = text_of(path)
            errors.append(invalid(where, "", f"{where} in body shouldn't contain duplicates"))
        return count

    return check


def _object(schema: Schema) -> Node | None:
    properties = schema.properties or {}
    additional, wanted = schema.additional, schema.required
    least, most = schema.min_properties, schema.max_properties
    closed = schema.extensions.get("additionalProperties") is False
    if not properties and additional is None and not wanted and least is None and most is None and not closed:
        return None
    nodes: dict[str, Node] = {}

    def node(name: str) -> Node | None:
        member = properties.get(name, additional)
        if member is None:
            return None
        made = node_of(member)
        if name in properties:
            nodes[name] = made
        return made

    def check(value: dict[str, Any], old: Old, path: Path, errors: FieldErrors) -> int:
        count, size = 0, len(value)
        if least is not None and size < least:
            where = text_of(path)
            errors.append(invalid(where, size, f"{where} in body should have at least {least} properties"))
        if most is not None and size > most:
            errors.append(too_many(text_of(path), size, most))
        for name, member in value.items():
            if closed and name not in properties:
                where = text_of(path)
                errors.append(invalid(where, name, f"{where}.{name} in body is a forbidden property"))
                continue
            known = nodes.get(name) or node(name)
            if known is None:
                continue
            before = len(errors)
            was = old.key(name) if old is not None and (path is not None or name not in _TYPE_META) else None
            count += known(member, was, (path, name), errors)
            if len(errors) > before and was is not None and was.unchanged():
                del errors[before:]
        for name in wanted:
            if name not in value:
                errors.append(required(text_of((path, name))))
        return count

    return check
