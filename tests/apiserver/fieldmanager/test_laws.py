"""Laws of field management on random schemas, objects and managers.

The oracle of the merge knows nothing of the code: it flattens values into leaves (path → value) and
lays dictionaries over each other.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from apiserver.errors import ApplyConflict
from apiserver.fieldmanager.fieldpath import (
    FieldSet,
    decode,
    difference,
    intersection,
    members,
    path_text,
)
from apiserver.fieldmanager.manager import FieldManager
from apiserver.fieldmanager.typed import element_of
from apiserver.fieldmanager.types import Type, object_type
from apiserver.meta.objects import Object
from apiserver.schema.structural import structural as schema_from

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ["a", "b", "c"]
MANAGERS = ["one", "two", "three"]

Raw = dict[str, Any]


# --- random schemas and values --------------------------------------------------------------------
SCALARS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "boolean"},
        {"x-kubernetes-int-or-string": True},
    ]
)


def _nested(below: st.SearchStrategy[Raw]) -> st.SearchStrategy[Raw]:
    struct = st.dictionaries(st.sampled_from(NAMES), below, min_size=1, max_size=3).map(
        lambda p: {"type": "object", "properties": p}
    )
    atomic_struct = struct.map(lambda s: {**s, "x-kubernetes-map-type": "atomic"})
    map_ = below.map(lambda s: {"type": "object", "additionalProperties": s})
    atomic_list = below.map(lambda s: {"type": "array", "items": s})
    set_ = st.just({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}})
    keyed = struct.map(
        lambda s: {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {**s, "properties": {**s["properties"], "name": {"type": "string"}}},
        }
    )
    free = st.just({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    return st.one_of(struct, atomic_struct, map_, atomic_list, set_, keyed, free)


SCHEMAS = st.recursive(SCALARS, _nested, max_leaves=8)
SPECS = st.dictionaries(st.sampled_from(NAMES), SCHEMAS, min_size=1, max_size=3).map(
    lambda p: {"type": "object", "properties": p}
)
FREE = st.recursive(
    st.sampled_from(["x", 1, True]),
    lambda v: st.dictionaries(st.sampled_from(NAMES), v, max_size=2) | st.lists(v, max_size=2),
    max_leaves=4,
)


@st.composite
def values(draw: st.DrawFn, raw: Raw) -> Any:
    if raw.get("x-kubernetes-int-or-string"):
        return draw(st.sampled_from([1, 2, "1"]))
    kind = raw["type"]
    if kind == "string":
        return draw(st.sampled_from(["x", "y"]))
    if kind == "integer":
        return draw(st.sampled_from([1, 2]))
    if kind == "boolean":
        return draw(st.booleans())
    if kind == "array":
        if raw.get("x-kubernetes-list-type") == "set":
            return draw(st.lists(st.sampled_from(["p", "q", "r"]), unique=True, max_size=3))
        items = draw(st.lists(values(raw["items"]), max_size=3))
        if raw.get("x-kubernetes-list-type") == "map":
            names = draw(st.permutations(["m", "n", "o"]))
            items = [{**item, "name": name} for item, name in zip(items, names, strict=False)]
        return items
    if "properties" in raw:
        chosen = draw(st.lists(st.sampled_from(sorted(raw["properties"])), unique=True))
        return {name: draw(values(raw["properties"][name])) for name in chosen}
    if "additionalProperties" in raw:
        return {
            name: draw(values(raw["additionalProperties"]))
            for name in draw(st.lists(st.sampled_from(NAMES), unique=True))
        }
    return draw(st.dictionaries(st.sampled_from(NAMES), FREE, max_size=3))


@dataclass
class World:
    """A kind, and intents for it."""

    raw: Raw
    manager: FieldManager = field(repr=False)
    type: Type = field(repr=False)
    intents: list[Object] = field()

    def apply(self, live: Object | None, intent: Object, name: str, *, force: bool) -> Object:
        made = self.manager.apply(live, intent, name, force=force, api_version="g/v1", now=NOW)
        assume(
            made["metadata"].get("managedFields") or "spec" not in intent
        )  # what nobody manages is taken for older than management
        return {**made, "metadata": {**made["metadata"], "uid": "u"}}

    def update(self, live: Object | None, new: Object, name: str) -> Object:
        metadata = {**new["metadata"], "uid": "u"} if live else new["metadata"]
        made = self.manager.update(
            live, {**new, "metadata": metadata}, name, api_version="g/v1", now=NOW
        )
        return {**made, "metadata": {**made["metadata"], "uid": "u"}}


@st.composite
def worlds(draw: st.DrawFn, intents: int) -> World:
    raw = draw(SPECS)
    schema = schema_from({"type": "object", "properties": {"spec": raw}})
    manager = FieldManager(
        "K", lambda v: schema if v == "g/v1" else None, lambda o, v: {**o, "apiVersion": v}
    )
    made = [
        {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}, "spec": draw(values(raw))}
        for _ in range(intents)
    ]
    return World(raw, manager, object_type(schema), made)


def owned(obj: Object) -> dict[tuple[str, str], FieldSet]:
    return {
        (e["manager"], e["operation"]): decode(e["fieldsV1"])
        for e in obj["metadata"].get("managedFields", [])
    }


def leaves_of(t: Type, value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Path → value of every scalar and atomic value; containers are known by what they hold."""
    found: dict[tuple[str, ...], Any] = {}
    if isinstance(value, dict) and t.map is not None and not t.map.atomic:
        for name, item in value.items():
            below = t.map.member(name)
            assert below is not None
            found |= leaves_of(below, item, (*path, f"f:{name}"))
        return found
    if isinstance(value, list) and t.list is not None and not t.list.atomic:
        for item in value:
            found |= leaves_of(t.list.element, item, (*path, element_of(t.list, item)))
        return found
    return {path: value}


def spec_leaves(world: World, obj: Object) -> dict[tuple[str, ...], Any]:
    return leaves_of(world.type, {"spec": obj["spec"]}) if "spec" in obj else {}


def reaches(t: Type, value: Any, path: tuple[str, ...]) -> bool:
    """Whether a path leads to something in a value."""
    if not path:
        return True
    if isinstance(value, dict) and t.map is not None:
        name = path[0].removeprefix("f:")
        below = t.map.member(name)
        return name in value and below is not None and reaches(below, value[name], path[1:])
    if isinstance(value, list) and t.list is not None and not t.list.atomic:
        return any(
            reaches(t.list.element, item, path[1:])
            for item in value
            if element_of(t.list, item) == path[0]
        )
    return False


def replaces(world: World, intent: Object, path: tuple[str, ...]) -> bool:
    """Whether an intent has anything at a path, or a leaf above it."""
    return reaches(world.type, intent, path) or any(
        path[: len(leaf)] == leaf for leaf in spec_leaves(world, intent)
    )


LAWS = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


# --- laws -----------------------------------------------------------------------------------------
@LAWS
@given(worlds(3))
def test_apply_is_idempotent(world: World) -> None:
    live: Object | None = None
    for name, intent in zip(MANAGERS, world.intents, strict=True):
        live = world.apply(live, intent, name, force=True)
        assert world.apply(live, intent, name, force=True) == live
        assert world.apply(live, intent, name, force=False) == live


@LAWS
@given(worlds(2))
def test_apply_lays_the_intent_over_the_live_object(world: World) -> None:
    """Before anyone gives anything up, the result is live overlaid by intent."""
    first, second = world.intents
    live = world.apply(None, first, "one", force=True)
    merged = world.apply(live, second, "two", force=True)
    below = spec_leaves(world, live)
    above = spec_leaves(world, second)
    overlaid = {p: v for p, v in below.items() if not replaces(world, second, p)} | above
    assert spec_leaves(world, merged) == overlaid


@LAWS
@given(worlds(3))
def test_what_is_given_up_goes_unless_another_owns_it(world: World) -> None:
    first, second, less = world.intents
    live = world.apply(world.apply(None, first, "one", force=True), second, "two", force=True)
    found = world.apply(live, less, "one", force=True)
    before, wanted = spec_leaves(world, live), spec_leaves(world, less)
    after = spec_leaves(world, found)
    others = set(members(owned(live).get(("two", "Apply"), {})))
    mine = set(members(owned(live).get(("one", "Apply"), {})))
    for path, value in wanted.items():
        assert after[path] == value
    for path, value in before.items():
        replaced = replaces(world, less, path)
        if path in others and not replaced:
            assert after[path] == value
        elif path in mine and not replaced and path not in others:
            assert path not in after
    assert set(after) <= set(before) | set(wanted)


@LAWS
@given(worlds(2))
def test_giving_everything_up_ends_the_entry(world: World) -> None:
    first, second = world.intents
    live = world.apply(world.apply(None, first, "one", force=True), second, "two", force=True)
    assume(("two", "Apply") in owned(live))
    nothing = {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}}
    alone = world.apply(live, nothing, "one", force=False)
    assert ("one", "Apply") not in owned(alone)
    empty = world.apply(alone, nothing, "two", force=False)
    assert owned(empty) == {}
    assert spec_leaves(world, empty) == {}


@LAWS
@given(worlds(2))
def test_a_conflict_is_reported_exactly_where_owned_values_would_change(world: World) -> None:
    first, second = world.intents
    live = world.apply(None, first, "one", force=True)
    forced = world.apply(live, second, "two", force=True)
    lost = difference(
        owned(live).get(("one", "Apply"), {}), owned(forced).get(("one", "Apply"), {})
    )
    try:
        gentle = world.apply(live, second, "two", force=False)
    except ApplyConflict as error:
        assert error.details is not None
        causes = {cause["field"] for cause in error.details["causes"]}
        paths = list(members(lost))
        assert causes
        assert causes <= {path_text(path) for path in paths}
        # what stood in an object that becomes a scalar goes with it, and is no conflict of its own
        assert all(
            any(path_text(path[: n + 1]) in causes for n in range(len(path))) for path in paths
        )
    else:
        assert gentle == forced
        assert not lost
        before, after = spec_leaves(world, live), spec_leaves(world, gentle)
        for path in members(owned(live).get(("one", "Apply"), {})):
            assert path not in before or before[path] == after.get(path, before[path])


@LAWS
@given(worlds(2))
def test_after_force_nobody_shares_a_leaf_that_the_intent_changed(world: World) -> None:
    first, second = world.intents
    live = world.apply(None, first, "one", force=True)
    forced = world.apply(live, second, "two", force=True)
    before, after = spec_leaves(world, live), spec_leaves(world, forced)
    shared = intersection(
        owned(forced).get(("one", "Apply"), {}), owned(forced).get(("two", "Apply"), {})
    )
    for path in members(shared):
        assert path not in before or path not in after or (before[path] == after[path])


@LAWS
@given(worlds(2))
def test_an_update_owns_what_it_changed_and_others_keep_the_rest(world: World) -> None:
    first, new = world.intents
    live = world.apply(None, first, "one", force=True)
    assume(owned(live))  # nobody is tracked on an object that nobody manages
    found = world.update(live, new, "two")
    before, after = spec_leaves(world, live), spec_leaves(world, new)
    mine, theirs = owned(found).get(("two", "Update"), {}), owned(found).get(("one", "Apply"), {})
    kept, had = set(members(theirs)), set(members(owned(live).get(("one", "Apply"), {})))
    taken = set(members(mine))
    for path, value in after.items():
        if before.get(path, None) != value or type(before.get(path)) is not type(value):
            assert path in taken
        elif path in had:
            assert path in kept
            assert path not in taken
    assert all(reaches(world.type, new, path) for path in kept | taken)
    assert {k: v for k, v in found.items() if k != "metadata"} == {
        k: v for k, v in new.items() if k != "metadata"
    }


@LAWS
@given(worlds(1))
def test_an_update_without_changes_leaves_no_trace(world: World) -> None:
    live = world.apply(None, world.intents[0], "one", force=True)
    assert world.update(live, copy.deepcopy(live), "two") == live


@LAWS
@given(worlds(1))
def test_what_a_create_owns_is_all_of_it(world: World) -> None:
    intent = world.intents[0]
    created = world.update(None, intent, "one")
    mine = set(members(owned(created).get(("one", "Update"), {})))
    assert set(spec_leaves(world, intent)) <= mine
    assume(mine)
    taken_over = world.apply(created, intent, "one", force=False)
    assert owned(taken_over)[("one", "Update")] == owned(created)[("one", "Update")]
