"""listType, listMapKey, unique, customUnique, item, eachVal, eachKey: rules about items of lists and entries of maps.

What lists say about uniqueness also says which old item a new one is compared with (`correlation`): by the keys of a map list, by
equality in all others. An item that is equal to its old one is not looked at. Source: k8s.io/apimachinery ``api/validate`` (``each.go``,
``item.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath, duplicate, format_value
from apiserver.kinds.declarative.rules import Check, DeclarationError, Finding, Rule, Run, Site, Traits, below, finding, run_checks, tag
from apiserver.kinds.declarative.unions import Groups
from apiserver.kinds.declarative.values import identity, read, same
from apiserver.schema.types import Schema

Visit = Callable[[FieldPath, Any, Any], Iterator[Finding]]


@tag("listType", "stable")
def list_type(kind: str) -> Rule:
    """atomic, set or map; the items of a set or of a map must be unique."""
    if kind not in ("atomic", "set", "map"):
        raise DeclarationError(f"listType: unknown list type {kind}")
    return Rule("listType", lambda site: [] if kind == "atomic" else _unique(site), kind)


@tag("listMapKey", "stable")
def list_map_key(name: str) -> Rule:
    """One key of a map list; several rules make several keys."""
    return Rule("listMapKey", lambda site: [], name)


@tag("unique", "beta")
def unique(kind: str) -> Rule:
    """set or map: uniqueness of a list that is atomic otherwise."""
    if kind not in ("set", "map"):
        raise DeclarationError(f"unique: unknown kind {kind}")
    return Rule("unique", _unique, kind)


@tag("customUnique", "beta")
def custom_unique() -> Rule:
    """Uniqueness is checked by hand."""
    return Rule("customUnique", lambda site: [])


def traits_of(rules: Sequence[Rule]) -> Traits:
    """``rules`` without their levels. Raises DeclarationError for map lists without keys and keys without a map list."""
    said = {rule.tag: rule.argument for rule in rules}
    keys = tuple(rule.argument for rule in rules if rule.tag == "listMapKey")
    kind = said.get("listType", "")
    by = said.get("unique", "") or (kind if kind != "atomic" else "")
    if (by == "map") != bool(keys):
        raise DeclarationError("listMapKey: goes with listType=map or unique=map, and the other way round")
    return Traits(kind, by, keys, "customUnique" in said)


def _unique(site: Site) -> list[Check]:
    traits = site.traits
    if traits.custom:
        return []

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        yield from (duplicate(path.at(i), value[i]) for i in _repeated(value or (), traits.keys))

    made = finding(check, "", site.level)
    return [Check(made.call, covers=below("[*]", [made]))]


def _repeated(items: Sequence[Any], keys: tuple[str, ...]) -> Iterator[int]:
    seen: set[str] = set()
    for i, item in enumerate(items):
        key = correlation(item, keys)
        if key in seen:
            yield i
        seen.add(key)


def correlation(item: Any, keys: tuple[str, ...]) -> str:
    """What an item shares with its old one: its keys, or all of it where a list has no keys."""
    return identity([item.get(k) for k in keys] if keys else item)


def each(run: Run, path: FieldPath, new: Any, old: Any, traits: Traits, visit: Visit) -> Iterator[Finding]:
    """``visit(path, value, old value or None)`` for each item of a list or value of a map that has changed."""
    if isinstance(new, dict):
        before = old or {}
        for key in sorted(new):
            if not (run.update and key in before and same(new[key], before[key])):
                yield from visit(path.key(key), new[key], before.get(key))
        return
    olds = old or ()
    index: dict[str, Any] | None = None
    for i, item in enumerate(new or ()):
        if run.update and i < len(olds) and item == olds[i]:
            continue  # most items stay where they are; only then is no index of the old ones needed
        if index is None:
            index = {correlation(o, traits.keys): o for o in reversed(olds)}
        known = index.get(correlation(item, traits.keys)) if index else None
        if not (run.update and known is not None and same(item, known)):
            yield from visit(path.at(i), item, known)


def item_schema(schema: Schema, name: str) -> Schema:
    found = schema.items if schema.type == "array" else schema.additional
    if found is None:
        raise DeclarationError(f"{name}: only lists and maps have items")
    return found


@tag("eachVal", "alpha")
def each_val(rule: Rule) -> Rule:
    """``rule`` for each item of a list, each value of a map."""

    def build(site: Site) -> list[Check]:
        schema = item_schema(site.schema, "eachVal")
        checks = rule.build(Site(schema, site.name, site.level, own=Groups(), rules=(rule.bare(),)))

        def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[Finding]:
            return each(run, path, value, old, site.traits, lambda at, new, before: run_checks(checks, run, at, new, before))

        return [Check(call, covers=below("[*]", checks))] if checks else []

    return Rule("eachVal", build, None, rule)


_KEY = Schema(type="string", go_type="string")


@tag("eachKey", "beta")
def each_key(rule: Rule) -> Rule:
    """``rule`` for each key of a map; errors name the map."""

    def build(site: Site) -> list[Check]:
        if not site.schema.is_map():
            raise DeclarationError("eachKey: only maps have keys")
        checks = rule.build(Site(_KEY, site.name, site.level, rules=(rule.bare(),)))

        def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[Finding]:
            for key in sorted(value or ()):
                if not (run.update and key in (old or ())):
                    yield from run_checks(checks, run, path, key, None)

        return [Check(call, covers=below("", checks))]

    return Rule("eachKey", build, None, rule)


@tag("item", "stable")
def item(rule: Rule, **keys: str | int | bool) -> Rule:
    """``rule`` for the item of a map list that has these keys; all keys of the list must be given."""
    return Rule("item", lambda site: _item(site, keys, rule), keys, rule)


def _item(site: Site, keys: dict[str, Any], rule: Rule) -> list[Check]:
    if site.traits.unique != "map" or set(keys) != set(site.traits.keys):
        raise DeclarationError(f"item: needs all keys of a map list: {', '.join(site.traits.keys)}")
    schema = item_schema(site.schema, "item")
    name = f"{site.name}[{{{', '.join(f'{format_value(k)}: {format_value(v)}' for k, v in keys.items())}}}]"
    inner = Site(schema, name, site.level, around=site.own, own=Groups(), rules=(rule.bare(),), selector=keys)
    checks = rule.build(inner)

    def find(items: Any) -> tuple[int, Any]:
        members = schema.properties or {}
        for i, one in enumerate(items or ()):
            if all(read(members[k], one, k) == v for k, v in keys.items()):
                return i, one
        return -1, None

    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[Finding]:
        (i, new), (_, before) = find(value), find(old)
        if new is not None and not (run.update and before is not None and same(new, before)):
            yield from run_checks(checks, run, path.at(i), new, before)

    return [Check(call, short=any(c.short for c in checks), covers=below("[*]", checks))] if checks else []
