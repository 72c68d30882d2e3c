"""subfield, opaqueType, isSubresource, supportsSubresource, customValidation: rules about structs as wholes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath
from apiserver.kinds.declarative.rules import Check, DeclarationError, Finding, Rule, Run, Site, below, leaf, run_checks, tag
from apiserver.kinds.declarative.unions import Groups
from apiserver.kinds.declarative.values import read, same


@tag("subfield", "stable")
def subfield(name: str, rule: Rule) -> Rule:
    """``rule`` for a direct member of the struct: for members of a type that declares nothing itself (metadata.name)."""
    return Rule("subfield", lambda site: _subfield(site, name, rule), name, rule)


def _subfield(site: Site, name: str, rule: Rule) -> list[Check]:
    schema = (site.schema.properties or {}).get(name)
    if schema is None:
        raise DeclarationError(f"subfield: no field {name} in {site.name or 'the object'}")
    own = Groups()
    checks = rule.build(Site(schema, name, site.level, around=site.own, own=own, rules=(rule.bare(),)))

    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[Finding]:
        new, before = read(schema, value, name), None if old is None else read(schema, old, name)
        if not (run.update and old is not None and same(new, before)):
            yield from run_checks(checks, run, path.child(name), new, before)

    return [Check(call, short=any(c.short for c in checks), covers=below(f".{name}", checks))] if checks else []


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
    """At the root: the rules also hold for writes through this subresource ("/status"), whose changes they then see."""
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
