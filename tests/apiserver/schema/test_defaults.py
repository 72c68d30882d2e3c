from __future__ import annotations

import pytest

from apiserver.errors import RequestEntityTooLarge
from apiserver.schema.defaults import MOST, apply_defaults
from apiserver.schema.types import Schema

SCHEMA = Schema(
    type="object",
    properties={
        "a": Schema(type="string", default="x"),
        "null": Schema(type="string", default="x", nullable=True),
        "object": Schema(
            type="object", default={}, properties={"b": Schema(type="integer", default=1)}
        ),
        "bare": Schema(type="object", properties={"b": Schema(type="integer", default=1)}),
        "list": Schema(
            type="array",
            items=Schema(type="object", properties={"c": Schema(type="boolean", default=True)}),
        ),
        "map": Schema(type="object", additional=Schema(type="string", default="v")),
        "plain": Schema(type="string"),
    },
)


def test_missing_members_and_forbidden_nulls_are_filled_in() -> None:
    obj = {
        "a": None,
        "null": None,
        "list": [{}, {"c": False}],
        "map": {"k": None, "l": "m"},
        "plain": None,
    }
    apply_defaults(SCHEMA, obj)
    assert obj == {
        "a": "x",
        "null": None,
        "object": {"b": 1},
        "list": [{"c": True}, {"c": False}],
        "map": {"k": "v", "l": "m"},
        "plain": None,
    }


def test_an_object_that_is_missing_is_not_made_for_the_sake_of_its_members() -> None:
    obj: dict[str, object] = {}
    apply_defaults(SCHEMA, obj)
    assert "bare" not in obj
    obj = {"bare": {}}
    apply_defaults(SCHEMA, obj)
    assert obj["bare"] == {"b": 1}


def test_defaults_are_copied() -> None:
    first: dict[str, dict[str, int]] = {}
    apply_defaults(SCHEMA, first)
    first["object"]["b"] = 2
    second: dict[str, dict[str, int]] = {}
    apply_defaults(SCHEMA, second)
    assert second["object"] == {"b": 1}


def test_values_of_other_types_are_left_for_validation() -> None:
    obj = {"object": "text", "list": {}, "map": []}
    apply_defaults(SCHEMA, obj)
    assert (obj["object"], obj["list"], obj["map"]) == ("text", {}, [])


@pytest.mark.parametrize("member", ["list", "map", "nested"])
def test_defaults_add_no_more_than_may_be_stored(member: str) -> None:
    """Nine hundred bytes became 23.6 MB: a large default in the items of a list."""
    large = "x" * 80_000
    item = Schema(type="object", properties={"c": Schema(type="string", default=large)})
    schema = Schema(
        type="object",
        properties={
            "list": Schema(type="array", items=item),
            "map": Schema(
                type="object",
                additional=Schema(type="object", default={}, properties=item.properties),
            ),
            "nested": Schema(
                type="array",
                items=Schema(
                    type="object", properties={"d": Schema(type="object", default={"e": large})}
                ),
            ),
        },
    )
    many = dict.fromkeys(map(str, range(300))) if member == "map" else [{} for _ in range(300)]
    with pytest.raises(RequestEntityTooLarge):
        apply_defaults(schema, {member: many})
    few = {"list": [{} for _ in range(MOST // 80_000 - 1)]}
    apply_defaults(schema, few)
    assert all(entry == {"c": large} for entry in few["list"])
