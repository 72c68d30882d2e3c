"""listType, listMapKey, unique, customUnique, item, eachVal, eachKey: rules about items of lists
and entries of maps.

What lists say about uniqueness also says which old item a new one is compared with (`correlation`):
by the keys of a map list, by equality in a set, with none in other lists. An item that is equal to
its old one is not looked at. Source: k8s.io/apimachinery ``api/validate`` (``each.go``,
``item.go``), validation-gen ``list.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath, duplicate, format_value
from apiserver.kinds.declarative.rules import (
    Call,
    Check,
    DeclarationError,
    Finding,
    Rule,
    Run,
    Site,
    Traits,
    finding,
    require_kind,
    tag,
)
from apiserver.kinds.declarative.unions import Groups
from apiserver.kinds.declarative.values import identity, kind_of, read
from apiserver.meta.equality import semantic_equal
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


def traits_of(rules: Sequence[Rule], schema: Schema) -> Traits:
    """``rules`` without their levels. Raises DeclarationError for list tags that do not fit
    together or do not fit the schema."""
    said = {rule.tag: rule.argument for rule in rules if rule.tag in _LIST_TAGS}
    if not said:
        return Traits()
    names = [rule.argument for rule in rules if rule.tag == "listMapKey"]
    kind = said.get("listType", "")
    if not kind:
        raise DeclarationError(
            "listType must be specified - use listType=atomic, listType=set, or listType=map"
        )
    if kind != "atomic" and "unique" in said:
        raise DeclarationError("unique: may not be used with listType=set or listType=map")
    by = said.get("unique", "") or (kind if kind != "atomic" else "")
    if (by == "map") != bool(names):
        raise DeclarationError(
            "listMapKey: goes with listType=map or unique=map, and the other way round"
        )
    require_kind("listType", schema, ("list",))
    return Traits(
        kind, by, tuple((name, _key_schema(schema, name)) for name in names), "customUnique" in said
    )


_LIST_TAGS = ("listType", "listMapKey", "unique", "customUnique")


def _key_schema(schema: Schema, name: str) -> Schema:
    if schema.items is None or kind_of(schema.items) != "struct":
        raise DeclarationError("listMapKey: only lists of structs can be list-maps")
    key_schema = (schema.items.properties or {}).get(name)
    if key_schema is None:
        raise DeclarationError(f"listMapKey: no field for JSON name {name}")
    require_kind("listMapKey", key_schema, ("string", "integer", "boolean"))
    return key_schema


def _unique(site: Site) -> list[Check]:
    traits = site.traits
    if traits.custom:
        return []

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        yield from (duplicate(path.at(i), value[i]) for i in _repeated(value or (), traits))

    reported = finding(check, "", site.level)
    return [reported.wrapped(reported.call, "[*]")]


def _repeated(items: Sequence[Any], traits: Traits) -> Iterator[int]:
    seen: set[str] = set()
    for i, item in enumerate(items):
        key = correlation(item, traits)
        if key in seen:
            yield i
        seen.add(key)


def correlation(item: Any, traits: Traits) -> str:
    """What an item shares with its old one: its keys, or all of it in a set."""
    return identity(
        [read(schema, item, name) for name, schema in traits.keys] if traits.keys else item
    )


def each(
    run: Run, path: FieldPath, new: Any, old: Any, traits: Traits, visit: Visit
) -> Iterator[Finding]:
    """``visit(path, value, old value or None)`` for each value of a map and item of a set or map
    list that has changed, and for each item of any other list, because nothing says which old item
    was it."""
    if isinstance(new, dict):
        before = old or {}
        for key in sorted(new):
            if not (run.update and key in before and semantic_equal(new[key], before[key])):
                yield from visit(path.key(key), new[key], before.get(key))
        return
    olds = old if old and traits.unique else ()
    index: dict[str, Any] | None = None
    for i, item in enumerate(new or ()):
        if run.update and i < len(olds) and item == olds[i]:
            continue  # most items stay where they are; only then is no index of the old ones needed
        if index is None:
            index = {correlation(o, traits): o for o in reversed(olds)}
        item_before = index.get(correlation(item, traits)) if index else None
        if not (run.update and item_before is not None and semantic_equal(item, item_before)):
            yield from visit(path.at(i), item, item_before)


def item_schema(schema: Schema, name: str) -> Schema:
    below = schema.items if schema.type == "array" else schema.additional
    if below is None:
        raise DeclarationError(f"{name}: only lists and maps have items")
    return below


@tag("eachVal", "alpha")
def each_val(rule: Rule) -> Rule:
    """``rule`` for each item of a list, each value of a map."""

    def build(site: Site) -> list[Check]:
        require_kind("eachVal", site.schema, ("list", "map"))
        schema = item_schema(site.schema, "eachVal")
        checks = rule.build(Site(schema, site.name, site.level, own=Groups(), rules=(rule.bare(),)))
        return [check.wrapped(_at_each(check, site.traits), "[*]") for check in checks]

    return Rule("eachVal", build, None, rule)


def _at_each(check: Check, traits: Traits) -> Call:
    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[Finding]:
        return each(
            run,
            path,
            value,
            old,
            traits,
            lambda at, new, before: iter(check.call(run, at, new, before)),
        )

    return call


_KEY = Schema(type="string", go_type="string")


@tag("eachKey", "beta")
def each_key(rule: Rule) -> Rule:
    """``rule`` for each key of a map; errors name the map."""

    def build(site: Site) -> list[Check]:
        require_kind("eachKey", site.schema, ("map",))
        checks = rule.build(Site(_KEY, site.name, site.level, rules=(rule.bare(),)))
        return [check.wrapped(_at_each_key(check), "") for check in checks]

    return Rule("eachKey", build, None, rule)


def _at_each_key(check: Check) -> Call:
    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[Finding]:
        for key in sorted(value or ()):
            if not (run.update and key in (old or ())):
                yield from check.call(run, path, key, None)

    return call


@tag("item", "stable")
def item(rule: Rule, **keys: str | int | bool) -> Rule:
    """``rule`` for the item of a map list that has these keys; all keys of the list must be
    given."""
    return Rule("item", lambda site: _item(site, keys, rule), keys, rule)


_KEY_TYPES = {"string": str, "integer": int, "boolean": bool}


def _item(site: Site, keys: dict[str, Any], rule: Rule) -> list[Check]:
    members = dict(site.traits.keys)
    if site.traits.unique != "map" or keys.keys() != members.keys():
        raise DeclarationError(f"item: needs all keys of a map list: {', '.join(members)}")
    for name, member in members.items():
        if type(keys[name]) is not _KEY_TYPES[kind_of(member)]:
            raise DeclarationError(f"item: key {name}: expected {kind_of(member)} value")
    selector = ", ".join(f"{format_value(name)}: {format_value(keys[name])}" for name in members)
    at = f"{site.name}[{{{selector}}}]"
    schema = item_schema(site.schema, "item")
    inner = Site(
        schema, at, site.level, around=site.own, own=Groups(), rules=(rule.bare(),), selector=keys
    )

    def find(items: Any) -> tuple[int, Any]:
        for i, one in enumerate(items or ()):
            if all(read(members[k], one, k) == v for k, v in keys.items()):
                return i, one
        return -1, None

    return [
        check.wrapped(_at_item(check, find), "[*]", cohort=selector) for check in rule.build(inner)
    ]


def _at_item(check: Check, find: Callable[[Any], tuple[int, Any]]) -> Call:
    def call(run: Run, path: FieldPath, value: Any, old: Any) -> Iterable[Finding]:
        (i, new), (_, before) = find(value), find(old)
        if new is None or (run.update and before is not None and semantic_equal(new, before)):
            return ()
        return check.call(run, path.at(i), new, before)

    return call
