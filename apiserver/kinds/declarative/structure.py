"""subfield, opaqueType, isSubresource, supportsSubresource, customValidation: rules about structs
as wholes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath
from apiserver.kinds.declarative.rules import (
    Call,
    Check,
    DeclarationError,
    Finding,
    Rule,
    Run,
    Site,
    leaf,
    tag,
)
from apiserver.kinds.declarative.unions import Groups
from apiserver.kinds.declarative.values import read
from apiserver.meta.equality import semantic_equal
from apiserver.schema.types import Schema


@tag("subfield", "stable")
def subfield(name: str, rule: Rule) -> Rule:
    """``rule`` for a direct member of the struct: for members of a type that declares nothing
    itself (metadata.name)."""
    return Rule("subfield", lambda site: _subfield(site, name, rule), name, rule)


def _subfield(site: Site, name: str, rule: Rule) -> list[Check]:
    schema = (site.schema.properties or {}).get(name)
    if schema is None:
        raise DeclarationError(f"subfield: no field {name} in {site.name or 'the object'}")
    inner = Site(schema, name, site.level, around=site.own, own=Groups(), rules=(rule.bare(),))
    return [
        check.wrapped(_at_member(check, name, schema), f".{name}", cohort=name)
        for check in rule.build(inner)
    ]


def _at_member(check: Check, name: str, schema: Schema) -> Call:
    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterable[Finding]:
        new, before = read(schema, value, name), None if old is None else read(schema, old, name)
        if run.update and old is not None and semantic_equal(new, before):
            return ()
        return check.call(run, path.child(name), new, before)

    return call


@tag("opaqueType", "alpha")
def opaque_type() -> Rule:
    """Rules declared below this place are passed over."""
    return Rule("opaqueType", lambda site: [])


@tag("isSubresource", "alpha")
def is_subresource(path: str) -> Rule:
    """At the root: the rules are those of this subresource alone ("/scale")."""
    return Rule("isSubresource", lambda site: [], _subresource("isSubresource", path))


@tag("supportsSubresource", "alpha")
def supports_subresource(path: str) -> Rule:
    """At the root: the rules also hold for writes through this subresource ("/status"), whose
    changes they then see."""
    return Rule("supportsSubresource", lambda site: [], _subresource("supportsSubresource", path))


def _subresource(name: str, path: str) -> str:
    if not path.startswith("/") or path == "/":
        raise DeclarationError(f"{name}: a subresource begins with a slash: {path}")
    return path[1:]


@tag("customValidation", "alpha")
def custom(check: Callable[[Any, FieldPath], Iterable[FieldError]], origin: str = "") -> Rule:
    """What no tag can say, at its place among the others: ``check(value, path)``."""

    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterable[FieldError]:
        return check(value, path)

    return leaf("customValidation", call, argument=check, origin=origin)
