"""required, optional, forbidden, default: whether a field is there (k8s.io/apimachinery
``api/validate/required.go``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath
from apiserver.fielderrors import forbidden as forbidden_error
from apiserver.fielderrors import required as required_error
from apiserver.kinds.declarative.rules import Check, DeclarationError, Rule, Run, Site, finding, tag
from apiserver.kinds.declarative.values import is_set, nilable


@tag("required", "stable")
def required() -> Rule:
    """Unset (for value types: zero) is an error, and nothing else is checked then."""
    return Rule("required", _required)


@tag("optional", "stable")
def optional() -> Rule:
    """What is unset is not checked further. With default() it is as good as required, because a
    default has filled it."""
    return Rule("optional", _optional)


@tag("forbidden", "beta")
def forbidden() -> Rule:
    """Set is an error."""
    return Rule("forbidden", _forbidden)


@tag("default", "stable")
def default(value: Any) -> Rule:
    """Says which value the kind's defaults give; the rule itself checks nothing (see optional)."""
    if value is None:
        raise DeclarationError("default: null is no default")
    return Rule("default", lambda site: [], value)


def _required(site: Site) -> list[Check]:
    _no_plain_struct(site, "required")

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        if not is_set(site.schema, value):
            yield required_error(path)

    return [finding(check, "", site.level, short=True)]


def _optional(site: Site) -> list[Check]:
    _no_plain_struct(site, "optional")
    defaults = [rule.argument for rule in site.rules if rule.tag == "default"]
    if defaults:
        # a value type whose default is its zero value says nothing by being optional
        return [] if not defaults[0] and not nilable(site.schema) else _required(site)
    return [_ends_when_unset(site)]


def _forbidden(site: Site) -> list[Check]:
    _no_plain_struct(site, "forbidden")

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        if is_set(site.schema, value):
            yield forbidden_error(path, "")

    return [finding(check, "", site.level, short=True), _ends_when_unset(site)]


def _ends_when_unset(site: Site) -> Check:
    def unset(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        if not is_set(site.schema, value):
            yield required_error(path, "optional value was not specified")

    return finding(unset, "", site.level, short=True, silent=True)


def _no_plain_struct(site: Site, name: str) -> None:
    if site.schema.is_struct() and not nilable(site.schema):
        raise DeclarationError(f"{name}: {site.name} is a struct that is always there")
