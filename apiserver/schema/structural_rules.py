"""What makes an openAPIV3Schema structural (k8s.io/apiextensions-apiserver ``schema/validation.go``
and ``complete.go``).

Works on JSONSchemaProps as JSON. Errors come sorted by their text, as upstream sorts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, invalid, required
from apiserver.golang.regexp import RegexError, parse_regex

Props = Mapping[str, Any]

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_UNSUPPORTED = (
    "id",
    "$schema",
    "$ref",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
)


def conversion_error(props: Props) -> str:
    """Why a schema cannot be read as a structural one at all; "" where it can."""
    for name in _UNSUPPORTED:
        if props.get(name) or (name == "additionalItems" and props.get(name) is not None):
            return (
                f"OpenAPIV3Schema '{name.lstrip('$') if name == '$schema' else name}' is "
                f"not supported"
            )
    if isinstance(props.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    if props.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    for below in _below(props):
        why = conversion_error(below)
        if why:
            return why
    return ""


def _below(props: Props) -> list[Props]:
    below = list((props.get("properties") or {}).values())
    for name in ("allOf", "anyOf", "oneOf"):
        below += props.get(name) or ()
    return below + [
        v
        for v in (props.get("not"), props.get("items"), props.get("additionalProperties"))
        if isinstance(v, dict)
    ]


def structural_errors(props: Props, path: FieldPath) -> FieldErrors:
    """All violations, for a schema without a `conversion_error`."""
    errors = _invariants(props, _ROOT, path) + _completeness(props, props, path, path)
    return sorted(errors, key=str)


def _invariants(props: Props, level: str, path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    kind, items, additional = (
        props.get("type", ""),
        props.get("items"),
        props.get("additionalProperties"),
    )
    properties = props.get("properties") or {}
    if items is not None:
        errors += _invariants(items, _ITEM, path.child("items"))
    elif kind == "array":
        errors.append(required(path.child("items"), "must be specified"))
    for name, member in properties.items():
        errors += _invariants(member, _FIELD, path.child("properties").key(name))
    if additional is not None:
        if level is _ROOT:
            errors.append(
                forbidden(path.child("additionalProperties"), "must not be used at the root")
            )
        if isinstance(additional, dict):
            errors += _invariants(additional, _FIELD, path.child("additionalProperties"))
    errors += _extensions(props, path)
    errors += _value_validation(
        props,
        path,
        skip_any_of=props.get("anyOf") == _INT_OR_STRING,
        skip_all_of=_int_or_string_all_of(props),
    )
    errors += _type_errors(props, level, path)
    if level is _ROOT or props.get("x-kubernetes-embedded-resource"):
        errors += _type_meta(properties, path)
    if "metadata" in properties:
        checked = level is _ROOT or bool(props.get("x-kubernetes-embedded-resource"))
        errors += _metadata(
            properties["metadata"], checked, level, path.child("properties").key("metadata")
        )
    return errors


def _int_or_string_all_of(props: Props) -> bool:
    clauses = props.get("allOf") or []
    return bool(clauses) and clauses[0].get("anyOf") == _INT_OR_STRING


def _extensions(props: Props, path: FieldPath) -> FieldErrors:
    if not props.get("x-kubernetes-int-or-string"):
        return []
    names = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
    return [
        invalid(path.child(n), True, "must be false if x-kubernetes-int-or-string is true")
        for n in names
        if props.get(n)
    ]


def _type_errors(props: Props, level: str, path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    kind, embedded = props.get("type", ""), props.get("x-kubernetes-embedded-resource")
    preserve = props.get("x-kubernetes-preserve-unknown-fields")
    if embedded and kind != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(
            invalid(path.child("type"), kind, text) if kind else required(path.child("type"), text)
        )
    elif not kind and not props.get("x-kubernetes-int-or-string") and not preserve:
        errors.append(required(path.child("type"), f"must not be empty {level}"))
    if embedded and props.get("additionalProperties") is not None:
        errors.append(
            forbidden(
                path.child("additionalProperties"),
                "must not be used if x-kubernetes-embedded-resource is set",
            )
        )
    if level is _ROOT and kind and kind != "object":
        errors.append(invalid(path.child("type"), kind, "must be object at the root"))
    if embedded and not preserve and not props.get("properties"):
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        )
        errors.append(required(path.child("properties"), text))
    return errors


def _type_meta(properties: Props, path: FieldPath) -> FieldErrors:
    return [
        invalid(
            path.child("properties").key(name).child("type"),
            properties[name].get("type", ""),
            "must be string",
        )
        for name in ("kind", "apiVersion")
        if name in properties and properties[name].get("type", "") != "string"
    ]


def _metadata(props: Props, checked: bool, level: str, path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    if checked and props.get("type", "") != "object":
        errors.append(invalid(path.child("type"), props.get("type", ""), "must be object"))
    if level is _ROOT:
        rest = {k for k, v in props.items() if v or type(v) in (int, float)} - {"type", "default"}
        if set(props.get("properties") or ()) <= {"name", "generateName"}:
            rest.discard("properties")
        if rest:
            text = (
                "must not specify anything other than name and generateName, but metadata is "
                "implicitly specified"
            )
            errors.append(forbidden(path, text))
    return errors


def _value_validation(
    props: Props, path: FieldPath, *, skip_any_of: bool = False, skip_all_of: bool = False
) -> FieldErrors:
    errors: FieldErrors = []
    if not skip_any_of:
        for i, clause in enumerate(props.get("anyOf") or ()):
            errors += _nested(clause, path.child("anyOf").at(i))
    for i, clause in enumerate(props.get("allOf") or ()):
        errors += _nested(clause, path.child("allOf").at(i), skip_any_of=skip_all_of and i == 0)
    for i, clause in enumerate(props.get("oneOf") or ()):
        errors += _nested(clause, path.child("oneOf").at(i))
    if props.get("not") is not None:
        errors += _nested(props["not"], path.child("not"))
    pattern = props.get("pattern")
    if pattern:
        try:
            parse_regex(pattern)
        except RegexError as e:
            errors.append(
                invalid(
                    path.child("pattern"),
                    pattern,
                    f"must be a valid regular expression, but isn't: {e}",
                )
            )
    return errors


_EMPTY, _FALSE, _UNDEFINED = (
    f"must be {what} to be structural" for what in ("empty", "false", "undefined")
)
_FORBIDDEN = (
    ("type", _EMPTY),
    ("additionalProperties", _UNDEFINED),
    ("default", _UNDEFINED),
    ("title", _EMPTY),
    ("description", _EMPTY),
    ("nullable", _FALSE),
    ("x-kubernetes-preserve-unknown-fields", _FALSE),
    ("x-kubernetes-embedded-resource", _FALSE),
    ("x-kubernetes-int-or-string", _FALSE),
    ("x-kubernetes-list-map-keys", _EMPTY),
    ("x-kubernetes-list-type", _UNDEFINED),
    ("x-kubernetes-map-type", _UNDEFINED),
    ("x-kubernetes-validations", _EMPTY),
)


def _nested(props: Props, path: FieldPath, *, skip_any_of: bool = False) -> FieldErrors:
    """A schema below allOf, anyOf, oneOf or not: it may restrict values and declare nothing."""
    errors = _value_validation(props, path, skip_any_of=skip_any_of)
    if props.get("items") is not None:
        errors += _nested(props["items"], path.child("items"))
    properties = props.get("properties") or {}
    for name, member in properties.items():
        errors += _nested(member, path.child("properties").key(name))
    for name, text in _FORBIDDEN:
        value = props.get(name)
        if name == "additionalProperties" and not isinstance(value, dict):
            continue  # true and false say nothing here
        if value is not None if text is _UNDEFINED else value:
            errors.append(forbidden(path.child(name), text))
    if "metadata" in properties:
        errors.append(
            forbidden(
                path.child("properties").key("metadata"),
                "must not be specified in a nested context",
            )
        )
    return errors


# --- completeness: every value validation applies to something that is declared -------------------


def _completeness(
    validation: Props, declared: Props | None, spath: FieldPath, vpath: FieldPath
) -> FieldErrors:
    errors: FieldErrors = []
    if validation.get("not") is not None:
        errors += _nested_completeness(validation["not"], declared, spath, vpath.child("not"))
    for name in ("allOf", "anyOf", "oneOf"):
        for i, clause in enumerate(validation.get(name) or ()):
            errors += _nested_completeness(clause, declared, spath, vpath.child(name).at(i))
    return errors


def _nested_completeness(
    validation: Props, declared: Props | None, spath: FieldPath, vpath: FieldPath
) -> FieldErrors:
    if declared is None:
        return [required(spath, f"because it is defined in {vpath}")]
    errors = _completeness(validation, declared, spath, vpath)
    if validation.get("items") is not None:
        errors += _nested_completeness(
            validation["items"], declared.get("items"), spath.child("items"), vpath.child("items")
        )
    properties = declared.get("properties") or {}
    for name, member in (validation.get("properties") or {}).items():
        s, v = spath.child("properties").key(name), vpath.child("properties").key(name)
        errors += (
            _nested_completeness(member, properties[name], s, v)
            if name in properties
            else [required(s, f"because it is defined in {v}")]
        )
    return errors
