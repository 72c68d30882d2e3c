"""Each tag: what it finds, under which kind of error, with upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.fielderrors import ErrorType
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.formats import FORMATS
from apiserver.kinds.declarative.rules import TAGS, DeclarationError, Rule
from apiserver.kinds.declarative.tree import compile_rules
from apiserver.schema.types import Schema
from tests.apiserver.kinds.declarative.findings import ROOT, findings, found

STRING, NUMBER = Schema(type="string"), Schema(type="integer")

BAD_LABEL = (
    'Invalid value: "-": a valid label must be an empty string or consist of alphanumeric '
    "characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex "
    "used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


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
        (
            "s",
            t.validate_false("why"),
            "x",
            'Invalid value: "x": forced failure: why',
            "validateFalse",
        ),
        (
            "s",
            t.format("k8s-uuid"),
            "X",
            'Invalid value: "X": must be a lowercase UUID in 8-4-4-4-12 format',
            "format=k8s-uuid",
        ),
        ("s", t.format("k8s-label-value"), "-", BAD_LABEL, "format=k8s-label-value"),
        (
            "s",
            t.format("k8s-path-segment-name"),
            "..",
            "Invalid value: \"..\": may not be '..'",
            "format=k8s-path-segment-name",
        ),
        (
            "s",
            t.format("k8s-short-name"),
            "a.b",
            'Invalid value: "a.b": must not contain dots',
            "format=k8s-short-name",
        ),
        ("l", t.list_type("set"), ["a", "b", "a"], None, ""),
    ],
)
def test_messages(path: str, rule: Rule, value: Any, text: str | None, origin: str) -> None:
    obj = {} if value is None else {path: value}
    [one] = findings({path: [rule]}, obj)
    assert str(one.error) == (f"{path}: {text}" if text else 'l[2]: Duplicate value: "a"')
    assert one.origin == origin


@pytest.mark.parametrize(
    ("path", "rule", "value"),
    [
        ("n", t.minimum(2), 2),
        ("n", t.maximum(2), 2),
        ("l", t.max_items(2), ["a", "b"]),
        ("s", t.max_length(2), "äö"),
        ("s", t.enum("a"), "a"),
        ("n", t.neq(1), 0),
        ("p", t.required(), 0),
        ("p", t.forbidden(), None),
        ("s", t.validate_true(), "x"),
        ("p", t.minimum(1), None),
    ],
)
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
        (
            "k8s-uuid",
            "123e4567-e89b-12d3-a456-426614174000",
            "123E4567-e89b-12d3-a456-426614174000",
        ),
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
    assert (
        "segment 1: must not be empty"
        in found({"s": [t.format("k8s-resource-pool-name")]}, {"s": "a//b"})[0]
    )


def test_optional_ends_what_is_unset_and_only_that() -> None:
    rules = {"n": [t.optional(), t.minimum(1)], "p": [t.optional(), t.minimum(1)]}
    assert found(rules, {"n": 0}) == []
    assert found(rules, {"p": 0}) == ["p: Invalid value: 0: must be greater than or equal to 1"]


def test_optional_with_a_default_is_required_unless_the_default_is_zero() -> None:
    assert found({"p": [t.optional(), t.default(1)]}, {}) == ["p: Required value"]
    assert found({"s": [t.optional(), t.default("x"), t.max_length(1)]}, {}) == [
        "s: Required value"
    ]
    assert found({"n": [t.optional(), t.default(0), t.minimum(1)]}, {}) == [
        "n: Invalid value: 0: must be greater than or equal to 1"
    ]


def test_what_ends_a_value_runs_before_its_other_rules() -> None:
    assert found({"s": [t.max_length(0), t.required()]}, {"s": ""}) == ["s: Required value"]
    assert found({"l": [t.each_val(t.validate_false()), t.max_items(1)]}, {"l": ["a", "b"]}) == [
        "l: Too many: 2: must have at most 1 item"
    ]


def test_items_keys_and_subfields() -> None:
    assert found({"l": [t.each_val(t.max_length(1))]}, {"l": ["a", "bc"]}) == [
        "l[1]: Too long: may not be more than 1 character"
    ]
    assert found({"l[*]": [t.max_length(1)]}, {"l": ["a", "bc"]}) == [
        "l[1]: Too long: may not be more than 1 character"
    ]
    assert found({"m": [t.each_val(t.max_length(1))]}, {"m": {"k": "bc"}}) == [
        "m[k]: Too long: may not be more than 1 character"
    ]
    [wrong] = findings({"m": [t.each_key(t.max_length(1))]}, {"m": {"key": "v"}})
    assert (wrong.error.path, wrong.error.type) == ("m", ErrorType.TOO_LONG)
    assert found({"plain": [t.subfield("x", t.required())]}, {}) == ["plain.x: Required value"]
    assert found({"items[*].name": [t.required()]}, {"items": [{"name": "a"}, {}]}) == [
        "items[1].name: Required value"
    ]


def test_map_lists() -> None:
    keys = [t.list_type("map"), t.list_map_key("name"), t.list_map_key("port")]
    items = [
        {"name": "a", "port": 1},
        {"name": "a", "port": 2},
        {"name": "a", "port": 1, "value": "x"},
    ]
    assert found({"items": keys}, {"items": items}) == [
        'items[2]: Duplicate value: {"name":"a","port":1,"value":"x"}'
    ]
    assert found({"items": [*keys, t.custom_unique()]}, {"items": items}) == []
    by_name = [t.list_type("atomic"), t.unique("map"), t.list_map_key("name")]
    assert [f.error.path for f in findings({"items": by_name}, {"items": items})] == [
        "items[1]",
        "items[2]",
    ]
    one = [*keys, t.item(t.subfield("value", t.required()), name="a", port=2)]
    assert found({"items": one}, {"items": items[:2]}) == ["items[1].value: Required value"]
    assert found({"items": one}, {"items": items[:1]}) == []


def test_unions_of_fields() -> None:
    rules = {"u.a": [t.union_member()], "u.b": [t.union_member()]}
    assert found(rules, {"u": {}}) == ['u: Invalid value: "": must specify one of: `a`, `b`']
    assert found(rules, {"u": {"a": {}, "b": 0}}) == [
        'u: Invalid value: "{a, b}": must specify exactly one of: `a`, `b`'
    ]
    assert found(rules, {"u": {"b": 0}}) == []
    both = {"u": {"a": {}, "b": 0}}
    assert found(rules, {"u": {**both["u"], "c": "x"}}, both) == [], "membership did not change"
    at_most = {"u.a": [t.zero_or_one_of_member()], "u.b": [t.zero_or_one_of_member()]}
    assert found(at_most, {"u": {}}) == []
    assert found(at_most, both) == [
        'u: Invalid value: "{a, b}": must specify at most one of: `a`, `b`'
    ]


def test_two_unions_of_one_struct() -> None:
    rules = {
        "u.a": [t.union_member(union="one"), t.zero_or_one_of_member()],
        "u.b": [t.union_member(union="two"), t.zero_or_one_of_member()],
    }
    assert found(rules, {"u": {"a": {}}}) == ['u: Invalid value: "": must specify one of: `b`']


def test_discriminated_union() -> None:
    rules = {
        "u.type": [t.union_discriminator()],
        "u.a": [t.union_member()],
        "u.b": [t.union_member(member_name="Bee")],
    }
    assert found(rules, {"u": {"type": "A", "a": {}}}) == []
    assert found(rules, {"u": {"type": "A", "b": 1}}) == [
        'u.a: Invalid value: "": must be specified when `type` is "A"',
        'u.b: Invalid value: "": may only be specified when `type` is "Bee"',
    ]


def test_union_of_list_items() -> None:
    rules = {
        "items": [
            t.list_type("map"),
            t.list_map_key("name"),
            t.item(t.zero_or_one_of_member(), name="x"),
            t.item(t.zero_or_one_of_member(), name="y"),
        ]
    }
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
    enum = t.enum(
        "a",
        "b",
        "c",
        exclude={
            "b": t.if_disabled("B", t.enum_exclude()),
            "c": t.if_enabled("NoC", t.enum_exclude()),
        },
    )
    assert found({"s": [enum]}, {"s": "b"}) == [
        's: Unsupported value: "b": supported values: "a", "c"'
    ]
    assert found({"s": [enum]}, {"s": "c"}, None, "B", "NoC") == [
        's: Unsupported value: "c": supported values: "a", "b"'
    ]


def test_updates() -> None:
    assert found({"s": [t.immutable()]}, {"s": "b"}, {"s": "a"}) == [
        "s: Invalid value: null: field is immutable"
    ]
    assert found({"s": [t.immutable()]}, {"s": "a"}, {"s": "a"}) == []
    assert found({"s": [t.immutable()]}, {"s": "b"}) == []
    every = {"p": [t.update("NoSet", "NoUnset", "NoModify")]}
    assert found(every, {"p": 1}, {}) == [
        "p: Invalid value: null: field cannot be set once created"
    ]
    assert found(every, {}, {"p": 1}) == [
        "p: Invalid value: null: field cannot be cleared once set"
    ]
    assert found(every, {"p": 2}, {"p": 1}) == [
        "p: Invalid value: null: field cannot be modified once set"
    ]
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
    for make in (
        lambda: t.format("nope"),
        lambda: t.list_type("bag"),
        lambda: t.unique("list"),
        lambda: t.max_items(-1),
        lambda: t.update("Never"),
        lambda: t.default(None),
        lambda: t.alpha(t.beta(t.required())),
        lambda: t.supports_subresource("status"),
        lambda: t.enum("a", exclude={"a": t.required()}),
    ):
        with pytest.raises(DeclarationError):
            make()


def test_every_documented_tag_is_there() -> None:
    documented = """
        alpha beta customUnique customValidation default discriminator eachKey eachVal enum
        enumExclude forbidden format ifDisabled ifEnabled ifMode immutable isSubresource item
        listMapKey listType maxBytes maxItems maxLength maximum member minItems minLength minimum
        modeDiscriminator neq opaqueType optional required subfield supportsSubresource
        unionDiscriminator unionMember unique update validateError validateFalse validateTrue
        validateTrueAlpha validateTrueBeta zeroOrOneOfMember
    """
    assert sorted(TAGS) == sorted(documented.split())
    assert {
        TAGS[name].stability
        for name in (
            "minimum",
            "required",
            "format",
            "listType",
            "item",
            "subfield",
            "zeroOrOneOfMember",
        )
    } == {"stable"}
    assert {TAGS[name].stability for name in ("immutable", "maxLength", "update")} == {"beta"}
    assert {TAGS[name].stability for name in ("neq", "opaqueType", "validateFalse")} == {"alpha"}
