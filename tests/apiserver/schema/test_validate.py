"""Value validation: which alternative's errors are shown, what is ratcheted, where errors say they
are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.fielderrors import FieldPath
from apiserver.golang.math import whole_numbers
from apiserver.meta.equality import equal
from apiserver.schema.formats import check_of
from apiserver.schema.listtypes import validate_lists
from apiserver.schema.prune import prune
from apiserver.schema.structural import structural
from apiserver.schema.validate import validate


def errors(schema: dict[str, Any], value: Any, **more: Any) -> list[str]:
    return [str(e) for e in validate(structural(schema), value, **more)]


def test_of_failing_alternatives_the_one_with_most_matches_is_shown() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "anyOf": [
            {"properties": {"a": {"maximum": 1}, "b": {"maximum": 1}}, "required": ["c"]},
            {"properties": {"a": {"minimum": 5}, "b": {"maximum": 9}}},
        ],
    }
    assert errors(schema, {"a": 3, "b": 3}) == [
        '<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
        "a: Invalid value: 3: a in body should be less than or equal to 1",
        "b: Invalid value: 3: b in body should be less than or equal to 1",
        "c: Required value",
    ]


def test_exactly_one_of_must_hold() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    assert errors(schema, {"a": 1}) == []
    assert errors(schema, {"a": 1, "b": 2}) == [
        '<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found 2 valid '
        "alternatives"
    ]
    assert errors(schema, {})[0] == (
        '<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). '
        "Found none valid"
    )


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        (
            {"type": "integer", "maximum": 1.5},
            2,
            [
                '<nil>: Invalid value: "": Maximum boundary value must be of type integer (default '
                "format) in ",
                "<nil>: Invalid value: 2:  in body should be less than or equal to 1.5",
            ],
        ),
        ({"type": "number", "multipleOf": 0.1}, 0.3, []),
        (
            {"type": "number", "multipleOf": 0.1},
            3,
            ["<nil>: Invalid value: 0: factor MultipleOf declared for  must be positive: 0"],
        ),
        ({"type": "number", "multipleOf": 1.5}, 3, []),
        (
            {"type": "number", "maximum": 1e6},
            2e6,
            ["<nil>: Invalid value: 2e+06:  in body should be less than or equal to 1e+06"],
        ),
        ({"type": "integer", "enum": [1]}, 1.0, []),
        (
            {"type": "boolean"},
            1,
            ['<nil>: Invalid value: "integer":  in body must be of type boolean: "integer"'],
        ),
        (
            {"type": "integer"},
            True,
            ['<nil>: Invalid value: "boolean":  in body must be of type integer: "boolean"'],
        ),
        (
            {"type": "string"},
            None,
            ['<nil>: Invalid value: "null":  in body must be of type string: "null"'],
        ),
        ({"type": "string", "nullable": True}, None, []),
        (
            {"type": "string", "maxLength": 2},
            "äöü",
            ["<nil>: Too long: may not be more than 2 bytes"],
        ),
    ],
)
def test_single_values(schema: dict[str, Any], value: Any, wanted: list[str]) -> None:
    assert errors(schema, value) == wanted


def test_errors_stand_below_the_base_and_messages_do_not() -> None:
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}}}
    assert errors(schema, {"l": [1]}, base=FieldPath("status")) == [
        'status.l[0]: Invalid value: "integer": l[0] in body must be of type string: "integer"'
    ]
    assert errors({"type": "array", "items": {"type": "string"}}, [1], base=FieldPath("x"))[
        0
    ].startswith("x.[0]: ")
    names = {"type": "object", "additionalProperties": {"type": "string"}}
    assert errors(names, {"a": 1}, base=FieldPath("x")) == [
        'x.a: Invalid value: "integer": .a in body must be of type string: "integer"'
    ]


def test_items_of_an_associative_list_are_compared_by_their_keys() -> None:
    items = {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
    markers = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": items, **markers}}}
    old = {"l": [{"k": "a", "v": "bad"}, {"k": "b", "v": 1}]}
    moved = {"l": [{"k": "b", "v": 1}, {"k": "a", "v": "bad"}, {"k": "c", "v": 1}]}
    assert errors(schema, moved, old=old) == []
    assert (
        errors(
            {"type": "object", "properties": {"l": {"type": "array", "items": items}}},
            moved,
            old=old,
        )
        != []
    )


def test_duplicates_in_sets_and_maps() -> None:
    schema = structural(
        {
            "type": "object",
            "properties": {
                "s": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-list-type": "set",
                },
                "m": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                },
            },
        }
    )
    value = {"s": ["a", "b", "a", "a", True, 1], "m": [{"k": "x"}, {"k": "x", "v": 1}, {}]}
    assert [str(e) for e in validate_lists(schema, value)] == [
        's[2]: Duplicate value: "a"',
        'm[1]: Duplicate value: {"k":"x"}',
    ]


def test_closed_objects_keep_what_they_refuse() -> None:
    schema = structural(
        {"type": "object", "properties": {"o": {"type": "object", "additionalProperties": False}}}
    )
    value = {"o": {"a": {"b": 1}}}
    assert prune(schema, value, root=False) == ["o.a.b"]
    assert [str(e) for e in validate(schema, value)] == [
        'o: Invalid value: "a": o.a in body is a forbidden property'
    ]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "uri",
            ["https://a.example.com/x?y=%20", "/path", "urn:x"],
            ["", "a b", "a", "https://[::1", "http://a b/"],
        ),
        (
            "email",
            ["a@b", "A B <a@b.example>", '"Abc\\@def"@example.com', '" "@a.b', "!def!xyz%abc@a.b"],
            ["a", "@b", "a@", "a b@c"],
        ),
        ("hostname", ["a", "a.example.com", "ä.example.com"], ["", "-a-", "a..b"]),
        ("ipv4", ["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"], ["1.2.3", "::1", "1.2.3.256"]),
        ("cidr", ["10.0.0.0/8", "::/0"], ["10.0.0.0", "10.0.0.0/33", "x/8"]),
        ("mac", ["00:11:22:33:44:55", "0011.2233.4455"], ["00:11:22:33:44", "00:11-22:33:44:55"]),
        ("duration", ["1h30m", "3 days", "22 ns"], ["", "1 fortnight", "x"]),
        (
            "date-time",
            ["2020-01-01T00:00:00Z", "2020-01-01t00:00:00.5+02:00"],
            ["2020-01-01", "2020-01-01T24:00:00Z", "2021-02-29T00:00:00Z"],
        ),
    ],
)
def test_formats(name: str, good: list[str], bad: list[str]) -> None:
    check = check_of(name)
    assert check is not None
    assert [text for text in good if not check(text)] == []
    assert [text for text in bad if check(text)] == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
ANYTHING = structural(
    {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": 0},
            "b": {"type": "array", "items": {"type": "string", "maxLength": 2}},
        },
        "required": ["a"],
        "anyOf": [{"required": ["b"]}, {"properties": {"a": {"maximum": 3}}}],
    }
)


@given(
    st.dictionaries(st.sampled_from(["a", "b"]), JSON.filter(lambda value: type(value) is not dict))
)
def test_whatever_was_stored_may_stay(value: Any) -> None:
    assert validate(ANYTHING, value, old=value) == []


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ({"o": {"n": 9}}, {"o": {"n": 9}, "x": 1}, []),
        ({"o": {"n": 9}}, {"o": {"n": 9, "m": 1}}, []),
        (
            {"o": {"n": 8}},
            {"o": {"n": 9}},
            ["o.n: Invalid value: 9: o.n in body should be less than or equal to 5"],
        ),
        (
            {},
            {"o": {"n": 9}},
            ["o.n: Invalid value: 9: o.n in body should be less than or equal to 5"],
        ),
        ({"l": [9]}, {"l": [9], "x": 1}, []),
        (
            {"l": [9]},
            {"l": [9, 1]},
            ["l[0]: Invalid value: 9: l[0] in body should be less than or equal to 5"],
        ),
        ({"q": {"m": 9}}, {"q": {"m": 9}}, []),
        (
            {"q": {"m": 9, "n": 1}},
            {"q": {"m": 9, "n": 2}},
            ["q.m: Invalid value: 9: q.m in body should be less than or equal to 5"],
        ),
        ({"r": {"unknown": 1}}, {"r": {"unknown": 1}}, ["r.m: Required value"]),
        ({"r": {"n": 1}}, {"r": {"n": 1}, "x": 1}, []),
        (
            {"kind": "a"},
            {"kind": "a", "x": 1},
            ['kind: Unsupported value: "a": supported values: "b"'],
        ),
    ],
)
def test_what_an_update_leaves_alone_is_ratcheted(old: Any, new: Any, wanted: list[str]) -> None:
    number = {"type": "integer", "maximum": 5}
    members = {"m": {"type": "integer"}, "n": {"type": "integer"}}
    schema = {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["b"]},
            "o": {"type": "object", "properties": {"n": number, "m": number}},
            "l": {"type": "array", "items": number},
            "q": {
                "type": "object",
                "properties": members,
                "allOf": [{"properties": {"m": {"maximum": 5}}}],
            },
            "r": {"type": "object", "properties": members, "required": ["m"]},
            "x": {"type": "integer"},
        },
    }
    found = errors(schema, new, old=old)
    assert [text for text in found if "(allOf)" not in text] == wanted


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON))
def test_an_update_is_never_refused_for_more_than_a_create(value: Any) -> None:
    created = {str(e) for e in validate(ANYTHING, value)}
    assert {str(e) for e in validate(ANYTHING, value, old={"a": 1})} <= created


@given(JSON)
def test_whole_numbers_keep_every_value(value: Any) -> None:
    import copy

    before = copy.deepcopy(value)
    assert equal(whole_numbers(value), before)
