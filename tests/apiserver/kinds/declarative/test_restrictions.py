"""Where tags may stand and which arguments they take: what makes no sense is refused when rules are
compiled, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.rules import DeclarationError, Rule
from apiserver.kinds.declarative.tree import compile_rules
from apiserver.schema.types import Schema

STRING, NUMBER = Schema(type="string"), Schema(type="integer")
ITEM = Schema(
    type="object",
    properties={"key": STRING, "port": NUMBER, "many": Schema(type="array", items=STRING)},
)
ROOT = Schema(
    type="object",
    properties={
        "s": STRING,
        "n": NUMBER,
        "ptr": Schema(type="string", go_pointer=True),
        "f": Schema(type="number"),
        "l": Schema(type="array", items=STRING),
        "items": Schema(type="array", items=ITEM),
        "m": Schema(type="object", additional=STRING),
        "plain": Schema(type="object", properties={"x": STRING}),
    },
)
KEYED = [t.list_type("map"), t.list_map_key("key")]


@pytest.mark.parametrize(
    ("path", "rules", "text"),
    [
        ("s", [t.minimum(0)], "minimum: can only be used on integer types (string)"),
        ("f", [t.maximum(0)], "maximum: can only be used on integer types (number)"),
        ("n", [t.max_length(1)], "maxLength: can only be used on string types (integer)"),
        ("n", [t.min_length(1)], "minLength: can only be used on string types (integer)"),
        ("l", [t.max_bytes(1)], "maxBytes: can only be used on string types (list)"),
        ("m", [t.max_items(1)], "maxItems: can only be used on list types (map)"),
        ("s", [t.min_items(1)], "minItems: can only be used on list types (string)"),
        ("n", [t.format("k8s-ip")], "format: can only be used on string types (integer)"),
        ("n", [t.enum("a")], "enum: can only be used on string types (integer)"),
        ("s", [t.neq(1)], "neq: can only be used on integer types (string)"),
        ("n", [t.neq(True)], "neq: can only be used on boolean types (integer)"),
        (
            "s",
            [t.each_val(t.validate_true())],
            "eachVal: can only be used on list or map types (string)",
        ),
        ("l", [t.each_key(t.validate_true())], "eachKey: can only be used on map types (list)"),
        ("s", [t.list_type("set")], "listType: can only be used on list types (string)"),
        (
            "l",
            [t.list_type("map"), t.list_map_key("x")],
            "listMapKey: only lists of structs can be list-maps",
        ),
        (
            "items",
            [t.list_type("map"), t.list_map_key("nope")],
            "listMapKey: no field for JSON name nope",
        ),
        (
            "items",
            [t.list_type("map"), t.list_map_key("many")],
            "listMapKey: can only be used on string or integer or boolean types (list)",
        ),
        (
            "items",
            [t.list_map_key("key")],
            "listType must be specified - use listType=atomic, listType=set, or listType=map",
        ),
        (
            "l",
            [t.unique("set")],
            "listType must be specified - use listType=atomic, listType=set, or listType=map",
        ),
        (
            "l",
            [t.list_type("set"), t.unique("set")],
            "unique: may not be used with listType=set or listType=map",
        ),
        (
            "items",
            [*KEYED, t.item(t.validate_true(), key=1)],
            "item: key key: expected string value",
        ),
        (
            "items",
            [*KEYED, t.item(t.validate_true(), port=1)],
            "item: needs all keys of a map list: key",
        ),
        (
            "items",
            [*KEYED, t.item(t.validate_true(), key="a", port=1)],
            "item: needs all keys of a map list: key",
        ),
        (
            "n",
            [t.union_discriminator()],
            "unionDiscriminator: can only be used on string types (integer)",
        ),
        (
            "f",
            [t.discriminator()],
            "discriminator: can only be used on string or boolean or integer types (number)",
        ),
        ("ptr", [t.discriminator()], "discriminator: can only be used on non-pointer types"),
        ("s", [t.discriminator(), t.discriminator()], "discriminator: duplicate discriminator: "),
        (
            "plain",
            [t.update("NoSet")],
            "update: NoSet and NoUnset cannot be used on non-pointer struct fields (they cannot be "
            "unset)",
        ),
        ("m", [t.update("NoModify")], "update: not supported on list or map fields"),
        ("s", [t.subfield("x", t.required())], "subfield: no field x in s"),
        ("", [t.union_member()], "unions: can only be used on fields and list items"),
    ],
)
def test_a_tag_in_the_wrong_place(path: str, rules: list[Rule], text: str) -> None:
    with pytest.raises(DeclarationError) as refusal:
        compile_rules({path: rules}, ROOT)
    assert str(refusal.value) == text


@pytest.mark.parametrize(
    "make", [t.union_member, t.zero_or_one_of_member, lambda: t.member("A", t.optional())]
)
def test_a_struct_that_is_always_there_is_no_member(make: Callable[[], Rule]) -> None:
    with pytest.raises(DeclarationError, match="plain is a struct that is always there"):
        compile_rules({"s": [t.discriminator()], "plain": [make()]}, ROOT)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: t.alpha(t.minimum(0), since="v1.36"),
            "alpha: since: expected 1.<minor version>, got v1.36",
        ),
        (lambda: t.alpha(t.beta(t.minimum(0))), "alpha: beta can't be used in between"),
        (
            lambda: t.if_enabled("Gate", t.alpha(t.minimum(0))),
            "ifEnabled: alpha can't be used in between",
        ),
        (lambda: t.each_val(t.beta(t.minimum(0))), "eachVal: beta can't be used in between"),
        (
            lambda: t.discriminator(name="1a"),
            "discriminator: group name must match [a-zA-Z][a-zA-Z0-9_]*, got 1a",
        ),
        (
            lambda: t.discriminator(name="default"),
            "discriminator: discriminator group name default is reserved",
        ),
        (
            lambda: t.member("A", t.required(), discriminator="default"),
            "member: discriminator group name default is reserved",
        ),
        (lambda: t.max_length(-1), "maxLength: must be greater than or equal to 0"),
        (lambda: t.format("k8s-nonsense"), "format: unsupported: k8s-nonsense"),
    ],
)
def test_arguments(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(DeclarationError) as refusal:
        make()
    assert str(refusal.value) == text


def test_a_level_says_since_when() -> None:
    assert t.beta(t.minimum(0), since="1.36").argument == "1.36"
