"""Values with a type: errors, sets of fields, comparison, overlay, removal, reconciliation."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.fieldmanager.combine import combine
from apiserver.fieldmanager.compare import compare
from apiserver.fieldmanager.fieldpath import decode
from apiserver.fieldmanager.reconcile import reconcile
from apiserver.fieldmanager.remove import remove
from apiserver.fieldmanager.typed import TypedError, field_set, named_fields_as_members, validate
from apiserver.fieldmanager.types import DEDUCED, Type, object_type, type_of
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import definition, schema_for
from apiserver.schema.structural import structural as schema_from

STRING = {"type": "string"}
BY_NAME = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "properties": {
            "name": STRING,
            "v": {"type": "integer"},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
        },
    },
}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": STRING}


def struct(**properties: Any) -> Type:
    return type_of(schema_from({"type": "object", "properties": properties}))


def problem(t: Type, value: Any) -> str:
    with pytest.raises(TypedError) as error:
        validate(t, value)
    return str(error.value)


# --- validation -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (STRING, 5, ".x: expected string, got &value.valueUnstructured{Value:5}"),
        (
            STRING,
            {"a": True},
            ".x: expected string, got &value.valueUnstructured{Value:map[string]interface "
            '{}{"a":true}}',
        ),
        (
            STRING,
            [None],
            ".x: expected string, got &value.valueUnstructured{Value:[]interface {}{interface "
            "{}(nil)}}",
        ),
        ({"type": "integer"}, "a", ".x: expected numeric (int or float), got string"),
        ({"type": "number"}, True, ".x: expected numeric (int or float), got bool"),
        ({"type": "number"}, [1], ".x: expected numeric (int or float), got []interface {}"),
        ({"type": "boolean"}, 1.5, ".x: expected boolean, got &{1.5}"),
        (
            {"type": "string", "format": "date"},
            {"b": 1, "a": "y"},
            ".x: expected any scalar, got &{map[a:y b:1]}",
        ),
        (SET, {"a": "b"}, ".x: expected list, got &{map[a:b]}"),
        (SET, ["q", "q"], '.x: duplicate entries for key [="q"]'),
        (SET, [["q"]], ".x: element 0: not supported: associative list with lists as elements"),
        (
            BY_NAME,
            [{"name": "q"}, "x"],
            ".x: element 1: associative list with keys may not have non-map elements",
        ),
        (
            BY_NAME,
            [{"name": "q", "v": "x"}],
            '.x[name="q"].v: expected numeric (int or float), got string',
        ),
        (BY_NAME, [{"name": "q", "z": "x"}], '.x[name="q"].z: field not declared in schema'),
        (
            {"type": "array", "items": {"type": "integer"}},
            [1, "x"],
            ".x[1]: expected numeric (int or float), got string",
        ),
        ({"type": "object", "additionalProperties": STRING}, ["x"], ".x: expected map, got &{[x]}"),
        (
            {"type": "object", "additionalProperties": STRING},
            {"k": 1},
            ".x.k: expected string, got &value.valueUnstructured{Value:1}",
        ),
    ],
)
def test_misfits_are_named_as_upstream_names_them(
    schema: dict[str, Any], value: Any, text: str
) -> None:
    assert problem(struct(x=schema), {"x": value}) == text


def test_several_misfits_are_listed() -> None:
    text = problem(struct(x=SET, y={"type": "integer"}), {"x": ["a", "a"], "y": "z"})
    assert text == (
        'errors:\n  .x: duplicate entries for key [="a"]\n  .y: expected numeric '
        "(int or float), got string"
    )


def test_duplicates_may_be_allowed_and_null_always_is() -> None:
    t = struct(x=SET, y={"type": "integer"})
    validate(t, {"x": ["a", "a"], "y": None}, allow_duplicates=True)
    validate(t, None)


def test_unknown_fields_below_preserve_unknown_are_of_any_type() -> None:
    t = type_of(
        schema_from(
            {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {"a": {"type": "object", "properties": {"b": STRING}}},
            }
        )
    )
    validate(t, {"z": [1, {}], "a": {"z": 1, "b": "x"}})
    assert problem(t, {"a": {"b": 1}})


# --- sets of fields -------------------------------------------------------------------------------
def test_what_an_applier_owns() -> None:
    t = struct(
        map={"type": "object", "additionalProperties": STRING},
        empty={"type": "object", "additionalProperties": STRING},
        null=STRING,
        list=BY_NAME,
        none=BY_NAME,
        set=SET,
        atomic={"type": "array", "items": STRING},
        whole={"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": STRING}},
        free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    )
    value = {
        "map": {"k": "v"},
        "empty": {},
        "null": None,
        "list": [{"name": "a", "v": 1, "tags": ["t"]}],
        "none": [],
        "set": ["x", "y"],
        "atomic": ["x"],
        "whole": {"a": "b"},
        "free": {"m": {"n": [1]}},
    }
    assert field_set(t, value) == decode(
        {
            "f:map": {"f:k": {}},
            "f:empty": {},
            "f:null": {},
            "f:list": {
                'k:{"name":"a"}': {".": {}, "f:name": {}, "f:v": {}, "f:tags": {'v:"t"': {}}}
            },
            "f:set": {'v:"x"': {}, 'v:"y"': {}},
            "f:atomic": {},
            "f:whole": {},
            "f:free": {"f:m": {".": {}, "f:n": {}}},
        }
    )
    assert field_set(t, value, named=True) == named_fields_as_members(t, field_set(t, value))


def test_repeated_items_are_owned_without_what_is_below() -> None:
    t = struct(list=BY_NAME)
    found = field_set(t, {"list": [{"name": "a", "v": 1}, {"name": "a", "v": 2}, {"name": "b"}]})
    assert found == decode(
        {"f:list": {'k:{"name":"a"}': {}, 'k:{"name":"b"}': {".": {}, "f:name": {}}}}
    )


def test_defaulted_keys_complete_a_path() -> None:
    ports = type_of(definition("io.k8s.api.core.v1.Container"))
    found = field_set(ports, {"name": "c", "ports": [{"containerPort": 80}]})
    assert found["f:ports"] == {
        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}
    }


# --- comparison -----------------------------------------------------------------------------------
def test_new_containers_are_added_with_what_they_hold() -> None:
    t = struct(map={"type": "object", "additionalProperties": STRING}, list=BY_NAME)
    changes = compare(t, {}, {"map": {"k": "v"}, "list": [{"name": "a"}]})
    assert changes.added == decode(
        {
            "f:map": {".": {}, "f:k": {}},
            "f:list": {".": {}, 'k:{"name":"a"}': {".": {}, "f:name": {}}},
        }
    )
    assert changes.modified == changes.removed == {}
    back = compare(t, {"map": {"k": "v"}, "list": [{"name": "a"}]}, {})
    assert back.removed == changes.added
    assert back.added == {}


def test_only_what_differs_is_named() -> None:
    t = struct(
        map={"type": "object", "additionalProperties": STRING},
        list=BY_NAME,
        atomic={"type": "array", "items": STRING},
    )
    old = {
        "map": {"a": "1", "b": "1", "c": "1"},
        "list": [{"name": "x", "v": 1}, {"name": "y"}],
        "atomic": ["a"],
    }
    new = {
        "map": {"a": "1", "b": "2", "d": "1"},
        "list": [{"name": "z"}, {"name": "x", "v": 2}],
        "atomic": ["a", "b"],
    }
    changes = compare(t, old, new)
    assert changes.added == decode(
        {"f:map": {"f:d": {}}, "f:list": {'k:{"name":"z"}': {".": {}, "f:name": {}}}}
    )
    assert changes.modified == decode(
        {"f:map": {"f:b": {}}, "f:list": {'k:{"name":"x"}': {"f:v": {}}}, "f:atomic": {}}
    )
    assert changes.removed == decode(
        {"f:map": {"f:c": {}}, "f:list": {'k:{"name":"y"}': {".": {}, "f:name": {}}}}
    )


def test_order_of_an_associative_list_is_no_difference() -> None:
    t = struct(list=BY_NAME)
    assert compare(
        t, {"list": [{"name": "a"}, {"name": "b"}]}, {"list": [{"name": "b"}, {"name": "a"}]}
    ) == ({}, {}, {})


def test_repeated_items_are_compared_as_one() -> None:
    t = struct(list=BY_NAME)
    one, two = (
        {"list": [{"name": "a", "v": 1}]},
        {"list": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]},
    )
    item = decode({"f:list": {'k:{"name":"a"}': {}}})
    with_fields = decode({"f:list": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:v": {}}}})
    assert compare(t, one, two) == (item, {}, with_fields)
    assert compare(t, two, one) == (with_fields, {}, item)
    assert compare(t, two, {"list": [*two["list"], {"name": "a"}]}).modified == item


@pytest.mark.parametrize(
    ("old", "new"), [(1, True), (0, False), ([1], [True]), ({"a": 1}, {"a": True})]
)
def test_true_is_not_one(old: Any, new: Any) -> None:
    assert compare(DEDUCED, {"x": old}, {"x": new}).modified


@pytest.mark.parametrize(("old", "new"), [(1, 1.0), ([1.0], [1]), ({"a": [1]}, {"a": [1.0]})])
def test_numbers_are_equal_by_value(old: Any, new: Any) -> None:
    assert compare(DEDUCED, {"x": old}, {"x": new}) == ({}, {}, {})


def test_a_value_that_changes_its_form_changes_in_both() -> None:
    changes = compare(DEDUCED, {"x": {"a": 1}}, {"x": "s"})
    assert (changes.removed, changes.modified) == (
        decode({"f:x": {"f:a": {}}}),
        decode({"f:x": {}}),
    )
    changes = compare(DEDUCED, {"x": "s"}, {"x": {"a": 1}})
    assert (changes.added, changes.modified) == (decode({"f:x": {"f:a": {}}}), decode({"f:x": {}}))
    assert compare(DEDUCED, {"x": {"a": 1}}, {"x": None}).removed == decode({"f:x": {"f:a": {}}})


# --- overlay --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("live", "intent", "merged"),
    [
        (["a", "b"], ["c"], ["a", "b", "c"]),
        (["a", "b", "c"], ["c", "a"], ["b", "c", "a"]),
        (["a", "b", "c"], ["b", "x", "c"], ["a", "b", "x", "c"]),
        (["x", "y", "a"], ["a", "b"], ["x", "y", "a", "b"]),
        ([], ["a"], ["a"]),
        (["a"], [], ["a"]),
        (None, [], []),
    ],
)
def test_order_of_a_merged_set(live: Any, intent: Any, merged: list[str]) -> None:
    assert combine(struct(x=SET), {"x": live}, {"x": intent}) == {"x": merged}


def test_overlay_keeps_what_the_intent_leaves_out() -> None:
    t = struct(
        list=BY_NAME,
        atomic={"type": "array", "items": STRING},
        map={"type": "object", "additionalProperties": STRING},
        s=STRING,
    )
    live = {
        "list": [{"name": "a", "v": 1, "tags": ["t"]}],
        "atomic": ["x"],
        "map": {"k": "v"},
        "s": "1",
    }
    assert combine(
        t, live, {"list": [{"name": "a", "v": 2}], "atomic": ["y"], "map": None, "s": None}
    ) == {
        "list": [{"name": "a", "v": 2, "tags": ["t"]}],
        "atomic": ["y"],
        "map": {"k": "v"},
        "s": None,
    }


# --- removal --------------------------------------------------------------------------------------
def test_removal_leaves_empty_containers_behind() -> None:
    t = struct(list=BY_NAME, map={"type": "object", "additionalProperties": STRING}, s=STRING)
    value = {"list": [{"name": "a", "v": 1}, {"name": "b"}], "map": {"k": "v"}, "s": "x"}
    gone = decode(
        {
            "f:list": {'k:{"name":"a"}': {"f:v": {}}, 'k:{"name":"b"}': {}},
            "f:map": {"f:k": {}},
            "f:s": {},
        }
    )
    assert remove(t, value, gone) == {"list": [{"name": "a"}], "map": {}}
    assert value["map"] == {"k": "v"}


# --- reconciliation -------------------------------------------------------------------------------
def test_parts_of_what_became_atomic_become_the_whole() -> None:
    t = struct(
        list={**BY_NAME, "x-kubernetes-list-type": "atomic"},
        map={"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": STRING},
        s=STRING,
    )
    before = decode(
        {
            "f:list": {'k:{"name":"a"}': {".": {}, "f:v": {}}},
            "f:map": {".": {}, "f:k": {}},
            "f:s": {},
        }
    )
    assert reconcile(t, before) == decode({"f:list": {}, "f:map": {}, "f:s": {}})


def test_owners_of_the_whole_keep_it_when_it_becomes_granular() -> None:
    t = struct(list=BY_NAME, map={"type": "object", "additionalProperties": STRING})
    before = decode({"f:list": {}, "f:map": {}})
    assert reconcile(t, before) is before


# --- types ----------------------------------------------------------------------------------------
def test_built_in_markers() -> None:
    pod = object_type(schema_for(GroupVersionKind("", "v1", "Pod")))
    assert pod.map is not None
    spec = pod.map.member("spec")
    assert spec is not None and spec.map is not None
    containers, selector, finalizers = (
        spec.map.member("containers"),
        spec.map.member("nodeSelector"),
        None,
    )
    assert (
        containers is not None and containers.list is not None and containers.list.keys == ("name",)
    )
    assert selector is not None and selector.map is not None and selector.map.atomic
    meta = pod.map.member("metadata")
    assert meta is not None and meta.map is not None
    finalizers = meta.map.member("finalizers")
    assert (
        finalizers is not None
        and finalizers.list is not None
        and not finalizers.list.atomic
        and not finalizers.list.keys
    )
    quantity = type_of(definition("io.k8s.apimachinery.pkg.api.resource.Quantity"))
    assert (quantity.scalar, quantity.list, quantity.map) == ("untyped", None, None)


def test_embedded_resources_have_typed_metadata() -> None:
    t = struct(
        x={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        }
    )
    validate(
        t,
        {
            "x": {
                "kind": "K",
                "metadata": {"labels": {"a": "b"}, "finalizers": ["f"]},
                "spec": {"a": [1]},
            }
        },
    )
    found = field_set(t, {"x": {"metadata": {"finalizers": ["f"]}}})
    assert found == decode({"f:x": {"f:metadata": {"f:finalizers": {'v:"f"': {}}}}})
    assert (
        problem(t, {"x": {"metadata": {"nope": 1}}})
        == ".x.metadata.nope: field not declared in schema"
    )
