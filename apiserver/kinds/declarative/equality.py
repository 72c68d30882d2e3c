"""enum, enumExclude, neq, immutable, update: a value against given ones or against what it was
(k8s.io/apimachinery ``api/validate``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath, format_value, invalid, not_supported
from apiserver.kinds.declarative.rules import (
    Check,
    DeclarationError,
    Rule,
    Run,
    Site,
    finding,
    leaf,
    tag,
)
from apiserver.kinds.declarative.values import is_set, kind_of, nilable
from apiserver.schema.types import Schema

_UPDATES = {
    "NoSet": (False, True, "field cannot be set once created"),
    "NoUnset": (True, False, "field cannot be cleared once set"),
    "NoModify": (True, True, "field cannot be modified once set"),
}
"""Constraint → whether the field was set, whether it is set now, and what is said then."""


@tag("enum", "stable")
def enum(*values: str, exclude: Mapping[str, Rule] | None = None) -> Rule:
    """``exclude``: for some of ``values``, enum_exclude(), or that within if_enabled() or
    if_disabled()."""
    exclusions = {value: _exclusion(rule) for value, rule in (exclude or {}).items()}

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        if value is not None:
            supported = sorted(v for v in values if not _excluded(run, exclusions.get(v)))
            if value not in supported:
                yield not_supported(path, value, supported)

    return leaf("enum", check, argument=values, origin="", on=("string",))


@tag("enumExclude", "alpha")
def enum_exclude() -> Rule:
    """Only as an argument of enum()."""
    return Rule("enumExclude", _only_in_enum)


def _only_in_enum(site: Site) -> list[Check]:
    raise DeclarationError("enumExclude: only a value of an enum can be excluded")


def _exclusion(rule: Rule) -> tuple[str, bool]:
    """(option, whether the value is excluded with it or without it); option "" excludes always."""
    if rule.tag == "enumExclude":
        return "", True
    if (
        rule.tag in ("ifEnabled", "ifDisabled")
        and rule.payload is not None
        and rule.payload.tag == "enumExclude"
    ):
        return rule.argument, rule.tag == "ifEnabled"
    raise DeclarationError(f"enum: {rule.tag} does not exclude a value")


def _excluded(run: Run, exclusion: tuple[str, bool] | None) -> bool:
    if exclusion is None:
        return False
    option, when = exclusion
    return not option or (option in run.options) == when


@tag("neq", "alpha")
def neq(disallowed: str | int | bool) -> Rule:
    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        if (
            value is not None
            and value == disallowed
            and isinstance(value, bool) == isinstance(disallowed, bool)
        ):
            yield invalid(path, value, f"must not be equal to {format_value(disallowed)}")

    kind = {str: "string", bool: "boolean", int: "integer"}[type(disallowed)]
    return leaf("neq", check, argument=disallowed, on=(kind,))


@tag("immutable", "beta")
def immutable() -> Rule:
    """Only asked when the value has changed: ratcheting has passed over equal ones."""

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        if run.update:
            yield invalid(path, None, "field is immutable")

    return leaf("immutable", check, short=True)


@tag("update", "beta")
def update(*constraints: str) -> Rule:
    """Of NoSet, NoUnset, NoModify; the field may not be a list or a map."""
    unknown = set(constraints) - _UPDATES.keys()
    if unknown or not constraints:
        raise DeclarationError(f"update: unknown constraint: {', '.join(sorted(unknown))}")

    def build(site: Site) -> list[Check]:
        kind, plain_struct = kind_of(site.schema), _plain_struct(site.schema)
        if kind in ("list", "map"):
            raise DeclarationError("update: not supported on list or map fields")
        if plain_struct and set(constraints) != {"NoModify"}:
            raise DeclarationError(
                "update: NoSet and NoUnset cannot be used on non-pointer struct fields (they "
                "cannot be unset)"
            )

        def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
            state = (
                plain_struct or is_set(site.schema, old),
                plain_struct or is_set(site.schema, value),
            )
            for constraint, (before, now, text) in _UPDATES.items():
                if run.update and constraint in constraints and state == (before, now):
                    yield invalid(path, None, text)

        return [finding(check, "update", site.level, short=True)]

    return Rule("update", build, constraints)


def _plain_struct(schema: Schema) -> bool:
    return kind_of(schema) == "struct" and not nilable(schema)
