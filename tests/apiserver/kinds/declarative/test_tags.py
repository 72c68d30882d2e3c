"""Each tag: what it finds, under which kind of error, with upstream's words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.fielderrors import ErrorType, FieldPath
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.formats import FORMATS
from apiserver.kinds.declarative.rules import TAGS, DeclarationError, Finding, Rule, Run
from apiserver.kinds.declarative.tree import compile_rules
from apiserver.kinds.declarative.values import identity, same
from apiserver.schema.types import Schema

STRING, NUMBER = Schema(type="string"), Schema(type="integer")
POINTER = Schema(type="integer", go_pointer=True)
ITEM = Schema(type="object", properties={"name": STRING, "port": NUMBER, "value": STRING})
STRUCT = Schema(
    type="object",
    go_pointer=True,
    properties={"type": STRING, "a": Schema(type="object", properties={}, go_pointer=True), "b": POINTER, "c": STRING},
)
ROOT = Schema(
    type="object",
    properties={
        "s": STRING,
        "n": NUMBER,
        "p": POINTER,
        "l": Schema(type="array", items=STRING),
        "items": Schema(type="array", items=ITEM),
        "m": Schema(type="object", additional=STRING),
        "u": STRUCT,
        "plain": Schema(type="object", properties={"x": STRING}),
    },
)

BAD_LABEL = (
    "Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def findings(rules: dict[str, list[Rule]], obj: Any, old: Any = None, *options: str) -> list[Finding]:
    run = Run(old is not None, frozenset(options))
    return list(compile_rules(rules, ROOT).findings(run, FieldPath(""), obj, old, related=old is not None))


def found(rules: dict[str, list[Rule]], obj: Any, old: Any = None, *options: str) -> list[str]:
    return [str(f.error) for f in findings(rules, obj, old, *options)]


@pytest.mark.parametrize(
    ("path", "rule", "value", "text", "origin"),
    [
        ("n", t.minimum(2), 1, "Invalid value: 1: must be greater than or equal to 2", "minimum"),
        ("n", t.maximum(2), 3, "Invalid value: 3: must be less than or equal to 2", "maximum"),
        ("l", t.min_items(1), [], "Too few: 0: must have at least 1 item", "minItems"),
        ("l", t.max_items(1), ["a", "b"], "Too many: 2: must have at most 1 item", "maxItems"),
        ("s", t.min_length(3), "ab", 'Too short: "ab": must be at least 3 characters', "minLength"),
        ("s", t.max_length(1), "ab", "Too long: may not be more than 1 character", "maxLength"),
        ("s", t.max_bytes(2), "äö", "Too long: may not be more than 2 bytes", "maxBytes"),
        ("s", t.enum("b", "a"), "c", 'Unsupported value: "c": supported values: "a", "b"', ""),
        ("s", t.neq("x"), "x", 'Invalid value: "x": must not be equal to "x"', "neq"),
        ("n", t.neq(3), 3, "Invalid value: 3: must not be equal to 3", "neq"),
        ("s", t.required(), "", "Required value", ""),
        ("n", t.required(), 0, "Required value", ""),
        ("p", t.required(), None, "Required value", ""),
        ("l", t.required(), [], "Required value", ""),
        ("m", t.required(), {}, "Required value", ""),
        ("s", t.forbidden(), "x", "Forbidden", ""),
        ("p", t.forbidden(), 0, "Forbidden", ""),
        ("s", t.validate_false("why"), "x", 'Invalid value: "x": forced failure: why', "validateFalse"),
        ("s", t.format("k8s-uuid"), "X", 'Invalid value: "X": must be a lowercase UUID in 8-4-4-4-12 format', "format=k8s-uuid"),
        ("s", t.format("k8s-label-value"), "-", BAD_LABEL, "format=k8s-label-value"),
        ("s", t.format("k8s-path-segment-name"), "..", "Invalid value: \"..\": may not be '..'", "format=k8s-path-segment-name"),
        ("s", t.format("k8s-short-name"), "a.b", 'Invalid value: "a.b": must not contain dots', "format=k8s-short-name"),
        ("l", t.list_type("set"), ["a", "b", "a"], None, ""),
    ],
)  # fmt: skip
def test_messages(path: str, rule: Rule, value: Any, text: str | None, origin: str) -> None:
    obj = {} if value is None else {path: value}
    [one] = findings({path: [rule]}, obj)
    assert str(one.error) == (f"{path}: {text}" if text else 'l[2]: Duplicate value: "a"')
    assert one.origin == origin


@pytest.mark.parametrize(
    ("path", "rule", "value"),
    [
        ("n", t.minimum(2), 2), ("n", t.maximum(2), 2), ("l", t.max_items(2), ["a", "b"]), ("s", t.max_length(2), "äö"),
        ("s", t.enum("a"), "a"), ("n", t.neq(1), 0), ("p", t.required(), 0), ("p", t.forbidden(), None), ("s", t.validate_true(), "x"),
        ("p", t.minimum(1), None),
    ],
)  # fmt: skip
def test_what_is_right_is_left_alone(path: str, rule: Rule, value: Any) -> None:
    assert found({path: [rule]}, {path: value}) == []


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("k8s-extended-resource-name", "example.com/gpu", "kubernetes.io/gpu"),
        ("k8s-ip", "10.0.0.1", "10.0.0.256"),
        ("k8s-label-key", "a.b/c", "a/b/c"),
        ("k8s-label-value", "", "-"),
        ("k8s-long-name", "a.b", "A.b"),
        ("k8s-long-name-caseless", "A.b", "a_b"),
        ("k8s-path-segment-name", "A:b", "a/b"),
        ("k8s-resource-fully-qualified-name", "a.b/c_d", "c_d"),
        ("k8s-resource-pool-name", "a.b/c", "a//b"),
        ("k8s-short-name", "a-b", "a_b"),
        ("k8s-uuid", "123e4567-e89b-12d3-a456-426614174000", "123E4567-e89b-12d3-a456-426614174000"),
    ],
)
def test_formats(name: str, good: str, bad: str) -> None:
    assert found({"s": [t.format(name)]}, {"s": good}) == []
    assert found({"s": [t.format(name)]}, {"s": bad})


def test_all_formats_are_tested_and_lengths_are_in_bytes() -> None:
    assert len(FORMATS) == 11
    assert found({"s": [t.format("k8s-long-name")]}, {"s": "a" * 254}) == [
        f's: Invalid value: "{"a" * 254}": must be no more than 253 bytes'
    ]
    assert "segment 1: must not be empty" in found({"s": [t.format("k8s-resource-pool-name")]}, {"s": "a//b"})[0]


def test_optional_ends_what_is_unset_and_only_that() -> None:
    rules = {"n": [t.optional(), t.minimum(1)], "p": [t.optional(), t.minimum(1)]}
    assert found(rules, {"n": 0}) == []
    assert found(rules, {"p": 0}) == ["p: Invalid value: 0: must be greater than or equal to 1"]


def test_optional_with_a_default_is_required_unless_the_default_is_zero() -> None:
    assert found({"p": [t.optional(), t.default(1)]}, {}) == ["p: Required value"]
    assert found({"s": [t.optional(), t.default("x"), t.max_length(1)]}, {}) == ["s: Required value"]
    assert found({"n": [t.optional(), t.default(0), t.minimum(1)]}, {}) == ["n: Invalid value: 0: must be greater than or equal to 1"]


def test_what_ends_a_value_runs_before_its_other_rules() -> None:
    assert found({"s": [t.max_length(0), t.required()]}, {"s": ""}) == ["s: Required value"]
    assert found({"l": [t.each_val(t.validate_false()), t.max_items(1)]}, {"l": ["a", "b"]}) == ["l: Too many: 2: must have at most 1 item"]


def test_items_keys_and_subfields() -> None:
    assert found({"l": [t.each_val(t.max_length(1))]}, {"l": ["a", "bc"]}) == ["l[1]: Too long: may not be more than 1 character"]
    assert found({"l[*]": [t.max_length(1)]}, {"l": ["a", "bc"]}) == ["l[1]: Too long: may not be more than 1 character"]
    assert found({"m": [t.each_val(t.max_length(1))]}, {"m": {"k": "bc"}}) == ["m[k]: Too long: may not be more than 1 character"]
    [wrong] = findings({"m": [t.each_key(t.max_length(1))]}, {"m": {"key": "v"}})
    assert (wrong.error.path, wrong.error.type) == ("m", ErrorType.TOO_LONG)
    assert found({"plain": [t.subfield("x", t.required())]}, {}) == ["plain.x: Required value"]
    assert found({"items[*].name": [t.required()]}, {"items": [{"name": "a"}, {}]}) == ["items[1].name: Required value"]


def test_map_lists() -> None:
    keys = [t.list_type("map"), t.list_map_key("name"), t.list_map_key("port")]
    items = [{"name": "a", "port": 1}, {"name": "a", "port": 2}, {"name": "a", "port": 1, "value": "x"}]
    assert found({"items": keys}, {"items": items}) == ['items[2]: Duplicate value: {"name":"a","port":1,"value":"x"}']
    assert found({"items": [*keys, t.custom_unique()]}, {"items": items}) == []
    by_name = [t.list_type("atomic"), t.unique("map"), t.list_map_key("name")]
    assert [f.error.path for f in findings({"items": by_name}, {"items": items})] == ["items[1]", "items[2]"]
    one = [*keys, t.item(t.subfield("value", t.required()), name="a", port=2)]
    assert found({"items": one}, {"items": items[:2]}) == ["items[1].value: Required value"]
    assert found({"items": one}, {"items": items[:1]}) == []


def test_unions_of_fields() -> None:
    rules = {"u.a": [t.union_member()], "u.b": [t.union_member()]}
    assert found(rules, {"u": {}}) == ['u: Invalid value: "": must specify one of: `a`, `b`']
    assert found(rules, {"u": {"a": {}, "b": 0}}) == ['u: Invalid value: "{a, b}": must specify exactly one of: `a`, `b`']
    assert found(rules, {"u": {"b": 0}}) == []
    both = {"u": {"a": {}, "b": 0}}
    assert found(rules, {"u": {**both["u"], "c": "x"}}, both) == [], "membership did not change"
    at_most = {"u.a": [t.zero_or_one_of_member()], "u.b": [t.zero_or_one_of_member()]}
    assert found(at_most, {"u": {}}) == []
    assert found(at_most, both) == ['u: Invalid value: "{a, b}": must specify at most one of: `a`, `b`']


def test_two_unions_of_one_struct() -> None:
    rules = {
        "u.a": [t.union_member(union="one"), t.zero_or_one_of_member()],
        "u.b": [t.union_member(union="two"), t.zero_or_one_of_member()],
    }
    assert found(rules, {"u": {"a": {}}}) == ['u: Invalid value: "": must specify one of: `b`']


def test_discriminated_union() -> None:
    rules = {"u.type": [t.union_discriminator()], "u.a": [t.union_member()], "u.b": [t.union_member(member_name="Bee")]}
    assert found(rules, {"u": {"type": "A", "a": {}}}) == []
    assert found(rules, {"u": {"type": "A", "b": 1}}) == [
        'u.a: Invalid value: "": must be specified when `type` is "A"',
        'u.b: Invalid value: "": may only be specified when `type` is "Bee"',
    ]


def test_union_of_list_items() -> None:
    rules = {"items": [t.list_type("map"), t.list_map_key("name"),
                       t.item(t.zero_or_one_of_member(), name="x"), t.item(t.zero_or_one_of_member(), name="y")]}  # fmt: skip
    names = '`items[{"name": "x"}]`, `items[{"name": "y"}]`'
    [wrong] = findings(rules, {"items": [{"name": "x"}, {"name": "y"}]})
    assert wrong.error.detail == f"must specify at most one of: {names}"
    assert (wrong.error.path, wrong.origin) == ("items", "zeroOrOneOf")
    assert found(rules, {"items": [{"name": "y"}, {"name": "z"}]}) == []


def test_rules_by_discriminator() -> None:
    rules = {
        "u.type": [t.discriminator()],
        "u.a": [t.member("A", t.required())],
        "u.b": [t.member("A", t.optional()), t.member("B", t.minimum(1))],
    }
    assert found(rules, {"u": {"type": "A"}}) == ["u.a: Required value"]
    assert found(rules, {"u": {"type": "B", "a": {}, "b": 0}}) == [
        "u.a: Forbidden",
        "u.b: Invalid value: 0: must be greater than or equal to 1",
    ]
    assert found(rules, {"u": {"type": "C", "b": 1}}) == ["u.b: Forbidden"]


def test_options() -> None:
    rules = {"n": [t.if_enabled("Zero", t.minimum(0)), t.if_disabled("Zero", t.minimum(1))]}
    assert found(rules, {"n": 0}, None, "Zero") == []
    assert found(rules, {"n": 0}) == ["n: Invalid value: 0: must be greater than or equal to 1"]
    enum = t.enum("a", "b", "c", exclude={"b": t.if_disabled("B", t.enum_exclude()), "c": t.if_enabled("NoC", t.enum_exclude())})
    assert found({"s": [enum]}, {"s": "b"}) == ['s: Unsupported value: "b": supported values: "a", "c"']
    assert found({"s": [enum]}, {"s": "c"}, None, "B", "NoC") == ['s: Unsupported value: "c": supported values: "a", "b"']


def test_updates() -> None:
    assert found({"s": [t.immutable()]}, {"s": "b"}, {"s": "a"}) == ["s: Invalid value: null: field is immutable"]
    assert found({"s": [t.immutable()]}, {"s": "a"}, {"s": "a"}) == []
    assert found({"s": [t.immutable()]}, {"s": "b"}) == []
    every = {"p": [t.update("NoSet", "NoUnset", "NoModify")]}
    assert found(every, {"p": 1}, {}) == ["p: Invalid value: null: field cannot be set once created"]
    assert found(every, {}, {"p": 1}) == ["p: Invalid value: null: field cannot be cleared once set"]
    assert found(every, {"p": 2}, {"p": 1}) == ["p: Invalid value: null: field cannot be modified once set"]
    assert found({"p": [t.update("NoModify")]}, {"p": 1}, {}) == []


def test_opaque_types_and_custom_checks() -> None:
    assert found({"plain": [t.opaque_type()], "plain.x": [t.required()]}, {}) == []
    assert found({"plain.x": [t.required()]}, {}) == ["plain.x: Required value"]
    seen: list[Any] = []
    found({"s": [t.custom(lambda value, path: seen.append((value, path)) or [])]}, {"s": "v"})
    assert seen == [("v", "s")]


@pytest.mark.parametrize(
    "rules",
    [
        {"plain": [t.required()]},
        {"nothing": [t.required()]},
        {"items": [t.list_type("map")]},
        {"items": [t.list_map_key("name")]},
        {"items": [t.item(t.validate_true(), name="a")]},
        {"s": [t.each_key(t.validate_true())]},
        {"s": [t.each_val(t.validate_true())]},
        {"l": [t.update("NoSet")]},
        {"s": [t.validate_error("no")]},
        {"s": [t.enum_exclude()]},
        {"u.a": [t.member("A", t.required())]},
        {"plain": [t.subfield("y", t.required())]},
    ],
)
def test_senseless_declarations_are_refused(rules: dict[str, list[Rule]]) -> None:
    with pytest.raises(DeclarationError):
        compile_rules(rules, ROOT)


def test_senseless_arguments_are_refused() -> None:
    for make in (lambda: t.format("nope"), lambda: t.list_type("bag"), lambda: t.unique("list"), lambda: t.max_items(-1),
                 lambda: t.update("Never"), lambda: t.default(None), lambda: t.alpha(t.beta(t.required())),
                 lambda: t.supports_subresource("status"), lambda: t.enum("a", exclude={"a": t.required()})):  # fmt: skip
        with pytest.raises(DeclarationError):
            make()


def test_every_documented_tag_is_there() -> None:
    documented = """
        alpha beta customUnique customValidation default discriminator eachKey eachVal enum enumExclude forbidden format
        ifDisabled ifEnabled ifMode immutable isSubresource item listMapKey listType maxBytes maxItems maxLength maximum member
        minItems minLength minimum modeDiscriminator neq opaqueType optional required subfield supportsSubresource
        unionDiscriminator unionMember unique update validateError validateFalse validateTrue
        validateTrueAlpha validateTrueBeta zeroOrOneOfMember
    """
    assert sorted(TAGS) == sorted(documented.split())
    assert {TAGS[name].stability for name in ("minimum", "required", "format", "listType", "item", "subfield", "zeroOrOneOfMember")} == {
        "stable"
    }
    assert {TAGS[name].stability for name in ("immutable", "maxLength", "update")} == {"beta"}
    assert {TAGS[name].stability for name in ("neq", "opaqueType", "validateFalse")} == {"alpha"}


# --- ratcheting and correlation ----------------------------------------------------------------------------------------------------
EVERYWHERE = {
    "s": [t.validate_false()],
    "items": [t.list_type("map"), t.list_map_key("name"), t.custom_unique()],
    "items[*]": [t.validate_false()],
    "items[*].value": [t.validate_false()],
    "l": [t.each_val(t.validate_false())],
    "m": [t.each_val(t.validate_false()), t.each_key(t.validate_false())],
    "u": [t.optional()],
    "u.c": [t.validate_false()],
}


def test_only_what_changed_is_checked_again() -> None:
    old = {"items": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}], "l": ["x", "y"], "m": {"k": "v"}, "u": {"c": "d", "b": 1}}
    new = {
        "items": [{"name": "b", "value": "3"}, {"name": "a", "value": "1"}],
        "l": ["y", "z"],
        "m": {"k": "w"},
        "u": {"c": "d", "b": 2},
    }
    paths = [f.error.path for f in findings(EVERYWHERE, new, old)]
    assert paths == ["items[0]", "items[0].value", "l[0]", "l[1]", "m[k]"], "an item of a list that is no set has no old one"
    as_set = {"l": [t.list_type("set"), t.each_val(t.validate_false())]}
    assert [f.error.path for f in findings(as_set, new, old)] == ["l[1]"]


def test_a_new_item_is_checked_whole() -> None:
    old: dict[str, Any] = {"items": [{"name": "a", "value": "1"}]}
    new = {"items": [*old["items"], {"name": "b"}]}
    assert [f.error.path for f in findings(EVERYWHERE, new, old)] == ["items[1]", "items[1].value"]


_VALUES = st.fixed_dictionaries(
    {},
    optional={
        "s": st.text(max_size=2),
        "l": st.lists(st.sampled_from("abc"), max_size=3),
        "m": st.dictionaries(st.sampled_from("kl"), st.sampled_from("vw"), max_size=2),
        "items": st.lists(st.fixed_dictionaries({"name": st.sampled_from("ab"), "value": st.sampled_from("12")}), max_size=2),
        "u": st.fixed_dictionaries({}, optional={"c": st.sampled_from("de"), "b": st.integers(0, 1)}),
    },
)


@given(_VALUES)
def test_an_unchanged_object_is_never_refused(obj: dict[str, Any]) -> None:
    assert findings(EVERYWHERE, obj, obj) == []


@given(_VALUES, _VALUES)
def test_an_update_finds_nothing_that_a_create_would_not(new: dict[str, Any], old: dict[str, Any]) -> None:
    on_create = {(f.error.path, f.origin) for f in findings(EVERYWHERE, new)}
    assert {(f.error.path, f.origin) for f in findings(EVERYWHERE, new, old)} <= on_create


_JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("kl"), inner, max_size=2),
    max_leaves=5,
)


@given(_JSON, _JSON)
def test_what_is_the_same_has_one_identity(one: Any, other: Any) -> None:
    assert same(one, other) == (identity(one) == identity(other))


def test_nothing_and_emptiness_are_the_same() -> None:
    assert same({"a": None, "b": []}, {})
    assert same(None, {})
    assert not same({"a": 0}, {})
    assert not same(True, 1)


@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5))
def test_limits_are_those_of_comparison(value: int, low: int, high: int) -> None:
    assert (found({"n": [t.minimum(low), t.maximum(high)]}, {"n": value}) == []) == (low <= value <= high)


@given(st.lists(st.sampled_from("abcd"), max_size=6))
def test_a_set_has_as_many_errors_as_repetitions(items: list[str]) -> None:
    assert len(found({"l": [t.list_type("set")]}, {"l": items})) == len(items) - len(set(items))
