"""Rules over objects: messages, transitions, ratcheting, budgets, and how schemas become types."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.cel.kubernetes.rulecheck import check_rules
from apiserver.cel.kubernetes.rulenodes import compile_rules
from apiserver.cel.kubernetes.rules import validate
from apiserver.cel.plan import program
from apiserver.schema.structural import structural
from apiserver.schema.types import Schema
from tests.apiserver.cel.schemas import schema_from

STRING = {"type": "string", "maxLength": 10}
INTEGER = {"type": "integer"}


def root(v: dict[str, Any], *rules: dict[str, Any]) -> dict[str, Any]:
    """A resource with one property, whose rules are given."""
    return {"type": "object", "properties": {"v": {**v, "x-kubernetes-validations": list(rules)}}}


def rule(text: str, **more: Any) -> dict[str, Any]:
    return {"rule": text, **more}


def errors(schema: dict[str, Any], obj: Any, old: Any = None, **options: Any) -> list[str]:
    tree = schema_from(schema)
    assert [str(e) for e in check_rules(tree, "schema")] == []
    return [str(e) for e in validate(compile_rules(tree), obj, old, **options).errors]


def definition_errors(schema: dict[str, Any]) -> list[str]:
    return [str(e).partition("\n")[0] for e in check_rules(schema_from(schema), "schema")]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({}, "v: Invalid value: 0: failed rule: self > 0"),
        ({"message": " too small "}, "v: Invalid value: 0: too small"),
        ({"messageExpression": "'got %d'.format([self])"}, "v: Invalid value: 0: got 0"),
        (
            {"messageExpression": "string(1 / self)", "message": "plan b"},
            "v: Invalid value: 0: plan b",
        ),
        ({"messageExpression": "'  '"}, "v: Invalid value: 0: failed rule: self > 0"),
        ({"messageExpression": "'a\\nb'"}, "v: Invalid value: 0: failed rule: self > 0"),
        ({"reason": "FieldValueForbidden"}, "v: Forbidden: failed rule: self > 0"),
        ({"reason": "FieldValueRequired"}, "v: Required value: failed rule: self > 0"),
        ({"reason": "FieldValueDuplicate"}, "v: Duplicate value: 0"),
    ],
)
def test_messages_and_reasons(extra: dict[str, Any], expected: str) -> None:
    assert errors(root(INTEGER, rule("self > 0", **extra)), {"v": 0}) == [expected]


def test_field_path_moves_the_error() -> None:
    schema = root(
        {"type": "object", "properties": {"a.b": INTEGER}}, rule("false", fieldPath=".a.b")
    )
    assert definition_errors(schema) == [
        'schema.properties[v].x-kubernetes-validations[0].fieldPath: Invalid value: ".a.b": must '
        "be a valid path"
    ]
    schema = root(
        {"type": "object", "properties": {"a.b": INTEGER}}, rule("false", fieldPath="['a.b']")
    )
    assert errors(schema, {"v": {}}) == ["v.a.b: Invalid value: failed rule: false"]


def test_evaluation_errors_name_the_rule() -> None:
    schema = root({"type": "object", "properties": {"a": INTEGER}}, rule("self.a > 0"))
    assert errors(schema, {"v": {}}) == [
        'v: Invalid value: "object": no such key: a evaluating rule: self.a > 0'
    ]


@pytest.mark.parametrize(
    ("old", "expected"),
    [(None, []), ({"v": 1}, []), ({"v": 5}, ["v: Invalid value: 3: failed rule: self >= oldSelf"])],
)
def test_transition_rules_need_an_old_value(old: Any, expected: list[str]) -> None:
    assert errors(root(INTEGER, rule("self >= oldSelf")), {"v": 3}, old) == expected


def test_optional_old_self_runs_on_create_too() -> None:
    schema = root(
        INTEGER,
        rule("oldSelf.hasValue() ? self == oldSelf.value() : self == 1", optionalOldSelf=True),
    )
    assert errors(schema, {"v": 1}) == []
    assert errors(schema, {"v": 2}) == [
        "v: Invalid value: 2: failed rule: "
        + schema["properties"]["v"]["x-kubernetes-validations"][0]["rule"]
    ]
    assert errors(schema, {"v": 2}, {"v": 2}) == []


ITEM = {
    "type": "object",
    "properties": {
        "k": STRING,
        "n": {**INTEGER, "x-kubernetes-validations": [rule("self >= oldSelf")]},
    },
    "required": ["k"],
}


def test_items_of_keyed_lists_are_correlated() -> None:
    listed = {
        "type": "array",
        "maxItems": 5,
        "items": ITEM,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    schema = {"type": "object", "properties": {"v": listed}}
    new, old = (
        {"v": [{"k": "b", "n": 1}, {"k": "a", "n": 2}]},
        {"v": [{"k": "a", "n": 2}, {"k": "b", "n": 2}]},
    )
    assert errors(schema, new, old) == ["v[0].n: Invalid value: 1: failed rule: self >= oldSelf"]


def test_old_self_is_refused_below_atomic_lists() -> None:
    schema = {
        "type": "object",
        "properties": {"v": {"type": "array", "maxItems": 5, "items": ITEM}},
    }
    expected = (
        'Invalid value: "self >= oldSelf": oldSelf cannot be used on the uncorrelatable '
        "portion of the schema within schema.properties[v]"
    )
    assert definition_errors(schema) == [
        f"schema.properties[v].items.properties[n].x-kubernetes-validations[0].rule: {expected}"
    ]


def test_unchanged_values_only_warn() -> None:
    tree = schema_from(root(INTEGER, rule("self > 0")))
    outcome = validate(compile_rules(tree), {"v": 0}, {"v": 0})
    assert (outcome.errors, outcome.warnings) == (
        [],
        ["v: Invalid value: 0: failed rule: self > 0"],
    )
    assert len(validate(compile_rules(tree), {"v": 0}, {"v": -1}).errors) == 1
    assert len(validate(compile_rules(tree), {"v": 0}, {"v": 0}, ratchet=False).errors) == 1


def test_transition_rules_are_not_ratcheted() -> None:
    assert errors(root(INTEGER, rule("self > oldSelf")), {"v": 1}, {"v": 1}) == [
        "v: Invalid value: 1: failed rule: self > oldSelf"
    ]


def test_a_rule_is_stopped_at_its_limit() -> None:
    listed = {"type": "array", "maxItems": 5000, "items": INTEGER}
    tree = schema_from(
        root(listed, rule("self.all(a, self.all(b, a <= b + 100000))"), rule("false"))
    )
    outcome = validate(compile_rules(tree), {"v": list(range(5000))})
    expected = (
        "v: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no "
        "further validation rules will be run due to"
        " call cost exceeds limit for rule: self.all(a, self.all(b, a <= b + 100000))"
    )
    assert [str(e) for e in outcome.errors] == [expected]
    assert outcome.budget < 0


def test_an_object_is_stopped_at_its_budget() -> None:
    schema = root(INTEGER, rule("self > 0"), rule("self > 1"))
    expected = (
        'v: Invalid value: "integer": validation failed due to running out of cost '
        "budget, no further validation rules will be run"
    )
    assert errors(schema, {"v": 2}, budget=3) == [expected]
    assert errors(schema, {"v": 2}, budget=4) == []


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "number"}, "type(self) == double && self == 1.0", 1),
        (
            {"type": "string", "format": "date-time"},
            "self.getFullYear() == 2020",
            "2020-01-02T03:04:05Z",
        ),
        ({"type": "string", "format": "date"}, "self.getDayOfMonth() == 1", "2020-01-02"),
        ({"type": "string", "format": "duration"}, "self == duration('90m')", "1h30m"),
        ({"type": "string", "format": "duration"}, "self == duration('90m')", "1h 30 minutes"),
        ({"type": "string", "format": "duration"}, "self == duration('25h')", "1 day, 1 hr"),
        ({"type": "string", "format": "byte", "maxLength": 9}, "self == b'abc'", "YWJj"),
        (
            {"x-kubernetes-int-or-string": True, "maxLength": 5},
            "type(self) == int ? self == 5 : self == '50%'",
            "50%",
        ),
        (
            {"type": "object", "properties": {"a-b": INTEGER, "in": INTEGER}},
            "self.a__dash__b == 1 && self.__in__ == 2",
            {"a-b": 1, "in": 2},
        ),
        (
            {"type": "object", "properties": {"a": {**INTEGER, "nullable": True}}},
            "!has(self.a)",
            {"a": None},
        ),
        (
            {
                "type": "object",
                "maxProperties": 3,
                "additionalProperties": {**STRING, "nullable": True},
            },
            "dyn(self['a']) == null",
            {"a": None},
        ),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "self.kind == 'Pod' && self.metadata.name == 'p'",
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}},
        ),
        (
            {"type": "array", "maxItems": 3, "items": STRING, "x-kubernetes-list-type": "set"},
            "self == ['b', 'a']",
            ["a", "b"],
        ),
    ],
)
def test_schema_types(schema: dict[str, Any], text: str, value: Any) -> None:
    assert errors(root(schema, rule(text)), {"v": value}) == []


@pytest.mark.parametrize(
    ("schema", "text", "why"),
    [
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "self.a == 1",
            "undefined field 'a'",
        ),
        (
            {"type": "object", "properties": {"a": {"x-kubernetes-preserve-unknown-fields": True}}},
            "has(self.a)",
            "undefined field 'a'",
        ),
        (
            INTEGER,
            "self == 'x'",
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
    ],
)
def test_types_refuse(schema: dict[str, Any], text: str, why: str) -> None:
    (message,) = definition_errors(root(schema, rule(text)))
    assert why in message


def test_members_of_any_kind_are_not_seen() -> None:
    """``additionalProperties: true`` makes an object without fields, which is there all the same
    (SchemaDeclType)."""
    anything = {"type": "object", "additionalProperties": True}

    def definition(*rules: str, below: str = "") -> Schema:
        inner = {**anything, "x-kubernetes-validations": [rule(below)] if below else []}
        outer = {"type": "object", "properties": {"v": inner}}
        return structural({**outer, "x-kubernetes-validations": [rule(text) for text in rules]})

    tree = definition("has(self.v) && self.v == oldSelf.v", below="self != {}")
    assert "no matching overload for '_!=_'" in str(check_rules(tree, "schema")[0])
    tree = definition("!has(self.v)", "self.v == oldSelf.v", below="self == self")
    assert check_rules(tree, "schema") == []
    nodes, old = compile_rules(tree), {"v": {"a": {"b": 1}}}
    assert [str(e) for e in validate(nodes, {"v": {"a": {"b": 2}}}, old).errors] == [
        "<nil>: Invalid value: failed rule: !has(self.v)",
        "<nil>: Invalid value: failed rule: self.v == oldSelf.v",
    ]
    [error] = check_rules(definition("self.v.a == 1"), "schema")
    assert "undefined field 'a'" in str(error)


def test_metadata_shows_only_names() -> None:
    schema = {
        "type": "object",
        "properties": {"metadata": {"type": "object"}},
        "x-kubernetes-validations": [rule("self.metadata.labels.size() > 0")],
    }
    assert "undefined field 'labels'" in definition_errors(schema)[0]
    schema["x-kubernetes-validations"] = [rule("self.metadata.name == 'x'")]
    assert errors(schema, {"metadata": {"name": "x", "labels": {}}}) == []


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"rule": " "}, "[0].rule: Required value: rule is not specified"),
        (
            {"rule": "true", "message": " "},
            '[0].message: Invalid value: " ": must be non-empty if specified',
        ),
        (
            {"rule": "true\n&& true"},
            "[0].message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            {"rule": "true", "messageExpression": " "},
            (
                "[0].messageExpression: Required value: messageExpression must be non-empty if "
                "specified"
            ),
        ),
        (
            {"rule": "true", "reason": ""},
            (
                '[0].reason: Unsupported value: "": supported values: "FieldValueDuplicate", '
                '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
            ),
        ),
        (
            {"rule": "true", "optionalOldSelf": True},
            (
                "[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used "
                "in rule"
            ),
        ),
    ],
)
def test_malformed_entries(entry: dict[str, Any], expected: str) -> None:
    assert definition_errors(root(INTEGER, entry)) == [
        "schema.properties[v].x-kubernetes-validations" + expected
    ]


def test_cost_depends_on_bounds() -> None:
    nested = "self.all(a, self.all(b, a == b))"
    unbounded = definition_errors(
        root({"type": "array", "items": {"type": "string"}}, rule(nested))
    )
    assert any(
        "estimated rule cost exceeds budget by factor of more than 100x" in e for e in unbounded
    )
    assert (
        definition_errors(root({"type": "array", "maxItems": 20, "items": STRING}, rule(nested)))
        == []
    )


def test_all_rules_over_an_object_share_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 2000}
    schema = root(names, rule("self.indexOf('b') < 0"), rule("self.size() < 0"))
    assert len(errors(schema, {"v": ["a"] * 20_000})) == 1
    monkeypatch.setattr(program, "PATIENCE", -60.0)
    told = errors(schema, {"v": ["a"] * 20_000})
    assert (
        len(told) == 1
        and "no further validation rules will be run due to call cost exceeds limit" in told[0]
    )


NO_TYPE = "failed to convert to declType for CEL validation rules"
RULED = {**INTEGER, "x-kubernetes-validations": [rule("self > 0")]}
UNKNOWN = {"x-kubernetes-preserve-unknown-fields": True}


def test_items_beside_what_is_no_list_have_no_type() -> None:
    """A list that was stored before its schema became that of an object meets them."""
    schema = {"type": "object", "properties": {"v": {"type": "object", "items": RULED}}}
    untyped = f'Invalid value: "integer": rule compiler initialization error: {NO_TYPE}'
    assert errors(schema, {"v": [1, None, 0]}) == [f"v[0]: {untyped}", f"v[2]: {untyped}"]
    assert errors(schema, {"v": [1]}, {"v": [1]}) == [f"v[0]: {untyped}"]  # never ratcheted
    assert errors(schema, {"v": {}}) == []


def test_such_items_are_refused_below_other_rules() -> None:
    schema = root({"type": "object", "items": RULED}, rule("true"))
    where = "schema.properties[v].items.x-kubernetes-validations"
    assert definition_errors(schema) == [f"{where}: Internal error: {NO_TYPE}"]


def test_items_beside_a_map_have_the_type_of_its_values() -> None:
    values = {"type": "string", "x-kubernetes-validations": [rule("size(self) > 1")]}
    v = {"type": "object", "additionalProperties": values, "items": RULED}
    schema = {"type": "object", "properties": {"v": v}}
    (error,) = errors(schema, {"v": [1]})
    assert error.startswith(
        'v[0]: Invalid value: "integer": rule compile error: compilation failed'
    )
    assert "'_>_' applied to '(string, int)'" in error
    assert errors(schema, {"v": {"a": "b"}}) == [
        'v[a]: Invalid value: "b": failed rule: size(self) > 1'
    ]


@pytest.mark.parametrize(
    ("v", "obj"),
    [
        ({**UNKNOWN, "properties": {"a": RULED}}, {"a": 0}),
        ({"type": "array", "items": {**UNKNOWN, "properties": {"a": RULED}}}, [{"a": 0}]),
        (
            {"type": "object", "additionalProperties": {**UNKNOWN, "properties": {"a": RULED}}},
            {"x": {"a": 0}},
        ),
    ],
)
def test_members_without_a_type_are_left_out_with_all_below_them(
    v: dict[str, Any], obj: object
) -> None:
    assert errors({"type": "object", "properties": {"v": v}}, {"v": obj}) == []


def test_members_of_a_type_are_there_whatever_else_is_preserved() -> None:
    v = {**UNKNOWN, "type": "object", "properties": {"a": RULED}}
    schema = {"type": "object", "properties": {"v": v}}
    assert errors(schema, {"v": {"a": 0}}) == ["v.a: Invalid value: 0: failed rule: self > 0"]
