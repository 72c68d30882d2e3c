"""Sets of field paths: FieldsV1, order, and the algebra of sets."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.fieldmanager.fieldpath import (
    FieldSet,
    InvalidFields,
    Path,
    decode,
    difference,
    encode,
    exclude,
    has,
    intersection,
    key_element,
    members,
    order,
    path_of,
    path_text,
    recursive_difference,
    set_of,
    union,
    value_element,
)

ELEMENTS = ["f:a", "f:b", 'k:{"name":"x"}', 'v:"s"', "v:1", "i:0"]
paths = st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4).map(tuple)
path_sets = st.frozensets(paths, max_size=8)


def as_set(found: FieldSet) -> frozenset[Path]:
    return frozenset(members(found))


def starts_with_any(path: Path, prefixes: frozenset[Path]) -> bool:
    return any(path[: len(p)] == p for p in prefixes)


@given(path_sets)
def test_a_set_holds_what_was_put_in(wanted: frozenset[Path]) -> None:
    made = set_of(*wanted)
    assert as_set(made) == wanted
    assert all(has(made, path) for path in wanted)
    assert not has(made, ("f:never",))


@given(path_sets, path_sets)
def test_operations_are_those_of_sets_of_paths(a: frozenset[Path], b: frozenset[Path]) -> None:
    one, two = set_of(*a), set_of(*b)
    assert as_set(union(one, two)) == a | b
    assert as_set(intersection(one, two)) == a & b
    assert as_set(difference(one, two)) == a - b
    assert as_set(recursive_difference(one, two)) == {p for p in a if not starts_with_any(p, b)}


@given(path_sets, path_sets)
def test_operations_leave_their_arguments_alone(a: frozenset[Path], b: frozenset[Path]) -> None:
    one, two = set_of(*a), set_of(*b)
    for operation in (union, intersection, difference, recursive_difference):
        operation(one, two)
    assert (as_set(one), as_set(two)) == (a, b)


@given(path_sets)
def test_fields_v1_round_trips(wanted: frozenset[Path]) -> None:
    made = set_of(*wanted)
    assert decode(encode(made)) == made


@given(path_sets)
def test_encoding_orders_members_at_every_level(wanted: frozenset[Path]) -> None:
    def check(node: FieldSet) -> None:
        names = [name for name in node if name != "."]
        assert "." not in node or next(iter(node)) == "."
        assert all(order(a) < order(b) for a, b in pairwise(names))
        for name in names:
            check(node[name])

    check(encode(set_of(*wanted)))


@given(path_sets)
def test_every_member_is_visited_once_and_before_what_lies_below(wanted: frozenset[Path]) -> None:
    visited = list(members(set_of(*wanted)))
    assert len(visited) == len(wanted)
    for i, path in enumerate(visited):
        assert not any(path[: len(later)] == later for later in visited[i + 1 :])


def test_order_of_path_elements() -> None:
    ordered = [
        "f:B",
        "f:a",
        "f:ä",
        'k:{"a":1}',
        'k:{"a":2}',
        'k:{"a":10}',
        'k:{"a":"1"}',
        "v:2",
        "v:10",
        'v:"2"',
        "v:true",
        "i:2",
        "i:10",
    ]
    assert sorted(ordered, key=order) == ordered


def test_texts_of_paths() -> None:
    path = ("f:spec", "f:list", 'k:{"port":80,"protocol":"TCP"}', 'v:"x\\"y"', "v:true", "i:3")
    assert path_text(path) == '.spec.list[port=80,protocol="TCP"][="x\\"y"][=true][3]'


def test_elements_are_written_as_go_writes_json() -> None:
    assert value_element("a<b>&\u2028\x01\n") == 'v:"a\\u003cb\\u003e\\u0026\\u2028\\u0001\\n"'
    assert value_element(1.0) == "v:1"
    assert value_element(1.5) == "v:1.5"
    assert value_element(None) == "v:null"
    assert key_element("a", 1, "b", "x") == 'k:{"a":1,"b":"x"}'
    assert key_element("a", True) == 'k:{"a":true}'
    assert key_element("a", {"x": []}) == 'k:{"a":{"x":[]}}'


def test_decoding_brings_elements_to_one_form() -> None:
    assert decode({'k:{"b": 1.0, "a":"<"}': {}}) == {'k:{"a":"\\u003c","b":1}': {}}
    assert decode({"f:a": {".": {}}}) == {"f:a": {}}
    assert decode({"f:a": None}) == {"f:a": {}}
    assert decode({"x:future": {}, "f:a": {"x:future": {}}}) == {"f:a": {}}
    assert decode({"f:a": {}, "f:b": {".": {}, "f:c": {}}}) == set_of(
        path_of("a"), path_of("b"), path_of("b", "c")
    )
    assert decode(None) == {}


@pytest.mark.parametrize(
    "bad",
    [
        {"data": {}},
        {"f": {}},
        {"f:a": 1},
        {"f:a": []},
        {"k:x": {}},
        {"k:1": {}},
        {"i:x": {}},
        [],
        "f:a",
    ],
)
def test_what_is_no_field_set_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidFields):
        decode(bad)


def test_filters() -> None:
    containers = ("f:spec", "f:containers", 'k:{"name":"c"}')
    found = set_of(
        path_of("status"),
        path_of("status", "phase"),
        path_of("spec", "a"),
        (*containers, "f:image"),
        containers,
        (*containers, "f:resources"),
    )
    assert as_set(exclude(set_of(path_of("status")))(found)) == as_set(found) - {
        path_of("status"),
        path_of("status", "phase"),
    }
