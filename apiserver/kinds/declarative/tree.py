"""The rules of a kind as a tree of closures in the shape of its objects, and the walk through it.

A rule stands at a path: names joined by dots, ``[*]`` for each item of a list or value of a map, ""
for the object itself. The order of the walk is that of validation-gen: of one value first what may
end its validation (required, optional, immutable ...), then its other rules, each in the order of
`_turn`, then those of single members and items, then unions, then what is in it, in the order in
which the paths are declared.

Ratcheting: on update a value that equals its old one is passed over with all that is in it, so that
a stored object that has become invalid by a newer rule can still be written. Items have an old one
where `lists.correlation` finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apiserver.fielderrors import FieldPath
from apiserver.kinds.declarative.lists import each, item_schema, traits_of
from apiserver.kinds.declarative.rules import (
    Check,
    Cohorts,
    DeclarationError,
    Finding,
    Rule,
    Run,
    Site,
    Traits,
    cohorts_of,
    run_cohorts,
)
from apiserver.kinds.declarative.unions import Groups
from apiserver.kinds.declarative.values import read
from apiserver.meta.equality import semantic_equal
from apiserver.schema.types import Schema

Rules = Mapping[str, Sequence[Rule]]

_STEP = re.compile(r"\[\*\]|[^.\[\]]+")
_ITEM = "[*]"


def under(prefix: str, rules: Rules) -> dict[str, Sequence[Rule]]:
    """The rules of a type that is used at ``prefix`` ("spec.devices", "items[*]")."""
    return {_join(prefix, path): some for path, some in rules.items()}


def _join(prefix: str, path: str) -> str:
    return prefix + path if not path or not prefix or path.startswith("[") else f"{prefix}.{path}"


@dataclass(slots=True)
class _Place:
    rules: list[Rule] = field(default_factory=list)
    children: dict[str, _Place] = field(default_factory=dict)


@dataclass(slots=True)
class Node:
    """The checks of one place. groups: unions of its members; covers as in Check, from here."""

    checks: Cohorts
    groups: list[Check]
    traits: Traits
    fields: list[tuple[str, Schema, Node]]
    items: Node | None
    covers: tuple[tuple[str, str, str], ...]

    def findings(
        self, run: Run, path: FieldPath, new: Any, old: Any, *, related: bool
    ) -> Iterator[Finding]:
        """related: whether ``old`` is what this value was before (None may be that too)."""
        if run.update and related and semantic_equal(new, old):
            return
        ended = yield from run_cohorts(self.checks, run, path, new, old)
        if ended:
            return
        if new is not None:
            yield from self._inside(run, path, new, old)

    def _inside(self, run: Run, path: FieldPath, new: Any, old: Any) -> Iterator[Finding]:
        for check in self.groups:
            yield from check.call(run, path, new, old)
        items = self.items
        if items is not None:
            yield from each(
                run,
                path,
                new,
                old,
                self.traits,
                lambda at, one, earlier: items.findings(run, at, one, earlier, related=False),
            )
        for name, schema, node in self.fields:
            before = None if old is None else read(schema, old, name)
            yield from node.findings(
                run, path.child(name), read(schema, new, name), before, related=old is not None
            )


def compile_rules(rules: Rules, schema: Schema) -> Node:
    """The tree for objects of ``schema``. Raises DeclarationError."""
    root = _Place()
    for path, some in rules.items():
        place = root
        for step in _STEP.findall(path):
            place = place.children.setdefault(step, _Place())
        place.rules += some
    return _node(root, schema, "", None)


def _node(place: _Place, schema: Schema, name: str, around: Groups | None) -> Node:
    bare = tuple(rule.bare() for rule in place.rules)
    own = Groups()
    site = Site(schema, name, around=around, own=own, rules=bare, traits=traits_of(bare, schema))
    checks = [check for rule in sorted(place.rules, key=_turn) for check in rule.build(site)]
    fields: list[tuple[str, Schema, Node]] = []
    items = None
    for step, child in (
        place.children.items() if not any(rule.tag == "opaqueType" for rule in bare) else ()
    ):
        if step == _ITEM:
            items = _node(child, item_schema(schema, name), name, None)
        else:
            inner = _member(schema, step, name)
            fields.append((step, inner, _node(child, inner, step, own)))
    groups = own.checks()
    covers = [entry for check in (*checks, *groups) for entry in check.covers]
    covers += [
        (f".{step}{tail}", origin, level)
        for step, _, node in fields
        for tail, origin, level in node.covers
    ]
    covers += [
        (_ITEM + tail, origin, level)
        for tail, origin, level in (items.covers if items is not None else ())
    ]
    return Node(cohorts_of(checks), groups, site.traits, fields, items, tuple(covers))


def _turn(rule: Rule) -> tuple[int, str]:
    """When a rule of one place has its turn. By name; what needs to know of list tags later; then
    uniqueness, updates, and what belongs to the type of the value. Source: validation-gen's
    registry.go (sortTagsIntoPhases, field and type validators)."""
    last = {"listType": 2, "unique": 2, "update": 3, "enum": 4}.get(rule.bare().tag)
    return (last, "") if last else (int(rule.tag in ("alpha", "beta", "eachVal", "item")), rule.tag)


def _member(schema: Schema, step: str, name: str) -> Schema:
    member = (schema.properties or {}).get(step)
    if member is None:
        raise DeclarationError(f"{name or 'the object'} has no field {step}")
    return member
