from __future__ import annotations

from typing import Any

import pytest

from apiserver.schema.decode import DecodeError
from apiserver.schema.prune import decode_custom, prune
from apiserver.schema.types import Schema

STRING = Schema(type="string")


def struct(**properties: Schema) -> Schema:
    return Schema(type="object", properties=properties)


def custom(**spec: Schema) -> Schema:
    return struct(spec=struct(**spec))


def test_unknown_fields_go_and_are_reported_sorted() -> None:
    schema = custom(
        a=STRING,
        list=Schema(type="array", items=struct(b=STRING)),
        map=Schema(type="object", additional=struct(c=STRING)),
    )
    obj: dict[str, Any] = {
        "apiVersion": "e.com/v1",
        "kind": "Foo",
        "top": 1,
        "metadata": {"name": "x", "nickname": "y"},
        "spec": {
            "z": 1,
            "a": {"deep": 1},
            "list": [{"b": "1"}, {"q": 1}],
            "map": {"k": {"c": "1", "d": 2}},
        },
    }
    assert decode_custom(schema, obj) == [
        'unknown field "metadata.nickname"',
        'unknown field "spec.a.deep"',
        'unknown field "spec.list[1].q"',
        'unknown field "spec.map.k.d"',
        'unknown field "spec.z"',
        'unknown field "top"',
    ]
    assert obj == {
        "apiVersion": "e.com/v1",
        "kind": "Foo",
        "metadata": {"name": "x"},
        "spec": {"a": {}, "list": [{"b": "1"}, {}], "map": {"k": {"c": "1"}}},
    }


def test_preserved_fields_stay_but_known_ones_below_are_pruned() -> None:
    schema = custom(
        free=Schema(type="object", properties={"known": struct(a=STRING)}, preserve_unknown=True)
    )
    obj = {"spec": {"free": {"x": {"y": 1}, "known": {"a": "1", "b": 2}}}}
    assert prune(schema, obj) == ["spec.free.known.b"]
    assert obj == {"spec": {"free": {"x": {"y": 1}, "known": {"a": "1"}}}}


def test_items_of_a_preserving_list_keep_their_own_unknown_members_only() -> None:
    schema = custom(list=Schema(type="array", items=struct(known=struct()), preserve_unknown=True))
    obj = {"spec": {"list": [{"x": 1, "known": {"y": 1}}, [{"x": 1}]]}}
    assert prune(schema, obj) == ["spec.list[0].known.y"]
    assert obj["spec"]["list"] == [{"x": 1, "known": {}}, [{"x": 1}]]


def test_without_a_schema_only_the_metadata_stays() -> None:
    obj = {"apiVersion": "e.com/v1", "kind": "Foo", "metadata": {"name": "x"}, "spec": {}}
    assert decode_custom(None, obj) == ['unknown field "spec"']
    assert obj == {"apiVersion": "e.com/v1", "kind": "Foo", "metadata": {"name": "x"}}


def test_nulls_go_unless_allowed_or_defaulted() -> None:
    schema = custom(
        a=STRING, b=Schema(type="string", nullable=True), c=Schema(type="string", default="d")
    )
    obj = {"spec": {"a": None, "b": None, "c": None}}
    decode_custom(schema, obj)
    assert obj == {"spec": {"b": None, "c": None}}


def test_embedded_metadata_is_an_object_meta() -> None:
    schema = custom(
        object=Schema(type="object", properties={"spec": struct(a=STRING)}, embedded_resource=True)
    )
    embedded: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "colour": 1},
        "other": 1,
        "spec": {"a": "1"},
    }
    assert decode_custom(schema, {"spec": {"object": embedded}}) == [
        'unknown field "spec.object.other"',
        'unknown field "spec.object.metadata.colour"',
    ]
    assert embedded == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"a": "1"},
    }


def test_what_is_unknown_of_metadata_comes_sorted_items_of_lists_in_their_order() -> None:
    owners = [{"z": i, "b": i, "uid": "u"} for i in range(11)]
    metadata = {"zone": 1, "ownerReferences": owners, "area": {"b": 1, "a": 2}, "name": "x"}
    found = decode_custom(custom(), {"metadata": metadata})
    paths = [f"ownerReferences[{i}].{name}" for i in range(11) for name in "bz"]
    assert found == [f'unknown field "metadata.{path}"' for path in ("area", *paths, "zone")]


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (
            {"metadata": {"name": 1, "labels": []}},
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type "
            "map[string]string",
        ),
        (
            {"metadata": {"labels": []}},
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type "
            "map[string]string",
        ),
        (
            {"spec": {"object": {"metadata": {"labels": {"a": 1}}}}},
            'spec.object.metadata: Invalid value: {"labels":{"a":1}}: '
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        ({"spec": {"object": {"kind": 5}}}, "spec.object.kind: Invalid value: 5: must be a string"),
    ],
)
def test_malformed_metadata(obj: dict[str, Any], text: str) -> None:
    schema = custom(object=Schema(type="object", preserve_unknown=True, embedded_resource=True))
    with pytest.raises(DecodeError) as raised:
        decode_custom(schema, obj)
    assert str(raised.value) == text
