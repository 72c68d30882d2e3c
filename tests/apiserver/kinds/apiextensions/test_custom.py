"""Strategy of custom resources: generation, status, scale, tables, selectable fields, transitions,
deprecation."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.errors import InternalError, PlainError
from apiserver.kinds.apiextensions.jsonpath import PathError, parse_path
from apiserver.kinds.apiextensions.resource import custom_resource
from apiserver.kinds.base import WriteContext
from apiserver.meta.objects import Object, copy_json
from tests.support.definitions import (
    CONTEXT,
    NOW,
    create_errors,
    definition,
    established,
    instance_errors,
    resource_of,
)

SPEC: Object = {
    "type": "object",
    "properties": {"replicas": {"type": "integer"}, "x": {"type": "string"}},
}
SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": SPEC,
        "status": {"type": "object", "properties": {"phase": {"type": "string", "enum": ["Up"]}}},
    },
}
STATUS = WriteContext("v1", NOW, subresource="status")


def obj(**members: Any) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Foo",
        "metadata": {"name": "f", "generation": 1},
        **members,
    }


def test_status_is_dropped_on_create_only_where_it_has_an_endpoint() -> None:
    for subresources, kept in (({"status": {}}, False), ({}, True)):
        resource = resource_of(definition(SCHEMA, subresources=subresources))
        new = obj(status={"phase": "Up"})
        resource.hooks.prepare_create(new, CONTEXT)
        assert ("status" in new) is kept


def test_generation_counts_spec_and_status_without_an_endpoint_but_not_metadata() -> None:
    resource = resource_of(definition(SCHEMA))
    old = obj(spec={"x": "a"})
    for change, generation in (
        ({"spec": {"x": "b"}}, 2),
        ({"status": {"phase": "Up"}}, 2),
        ({}, 1),
    ):
        new = {**copy_json(old), **change}
        new["metadata"]["labels"] = {"a": "b"}
        resource.hooks.prepare_update(new, old, CONTEXT)
        assert new["metadata"]["generation"] == generation


def test_a_truth_value_that_becomes_a_number_is_a_change() -> None:
    resource = resource_of(definition())
    new = obj(spec={"x": 1})
    resource.hooks.prepare_update(new, obj(spec={"x": True}), CONTEXT)
    assert new["metadata"]["generation"] == 2


def test_a_status_update_changes_nothing_but_status_and_managers() -> None:
    resource = resource_of(definition(SCHEMA, subresources={"status": {}}))
    old = obj(spec={"x": "a"})
    new = obj(spec={"x": "b"}, status={"phase": "Up"})
    new["metadata"] |= {"labels": {"a": "b"}, "managedFields": [{"manager": "m"}]}
    resource.hooks.prepare_status_update(new, old, STATUS)
    assert new == {
        **old,
        "metadata": {**old["metadata"], "managedFields": [{"manager": "m"}]},
        "status": {"phase": "Up"},
    }


def test_errors_of_a_status_update_name_the_field_from_the_root() -> None:
    resource = resource_of(definition(SCHEMA, subresources={"status": {}}))
    errors = resource.hooks.validate_status_update(obj(status={"phase": 5}), obj(), STATUS)
    assert [str(e) for e in errors] == [
        'status.phase: Invalid value: "integer": phase in body must be of type string: "integer"',
        'status.phase: Unsupported value: 5: supported values: "Up"',
    ]


def test_invalid_values_that_an_update_leaves_alone_are_allowed() -> None:
    resource = resource_of(definition(SCHEMA))
    old = obj(spec={"x": 5, "replicas": 1})
    new = obj(spec={"x": 5, "replicas": 2})
    assert resource.hooks.validate_update(new, old, CONTEXT) == []
    new["spec"]["x"] = 6
    assert [e.path for e in resource.hooks.validate_update(new, old, CONTEXT)] == ["spec.x"]


def test_another_kind_is_refused_before_anything_else() -> None:
    resource = resource_of(definition(SCHEMA))
    wrong = {**obj(spec={"x": 5}), "kind": "Bar"}
    assert [str(e) for e in resource.hooks.validate_create(wrong, CONTEXT)] == [
        'kind: Invalid value: "Bar": must be Foo'
    ]


def test_rules_are_not_run_on_objects_of_the_wrong_shape() -> None:
    schema = copy_json(SCHEMA)
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "self.replicas > 1"}]
    resource = resource_of(definition(schema))
    wrong = instance_errors(resource, obj(spec={"replicas": "x"}))
    assert [str(e).split(";")[0] for e in wrong[1:]] == [
        "<nil>: Invalid value: null: some validation rules were not checked because the object was "
        "invalid"
    ]
    assert [e.path for e in instance_errors(resource, obj(spec={"replicas": 1}))] == ["spec"]


def test_rules_that_fail_on_what_an_update_leaves_alone_only_warn() -> None:
    schema = copy_json(SCHEMA)
    schema["properties"]["spec"]["properties"]["replicas"]["x-kubernetes-validations"] = [
        {"rule": "self > 1", "message": "too few"}
    ]
    resource = resource_of(definition(schema))
    warnings: list[str] = []
    context = WriteContext("v1", NOW, warn=warnings.append)
    old = obj(spec={"replicas": 1, "x": "a"})
    assert resource.hooks.validate_update(obj(spec={"replicas": 1, "x": "b"}), old, context) == []
    assert warnings == ["spec.replicas: Invalid value: 1: too few"]
    changed = resource.hooks.validate_update(obj(spec={"replicas": 0, "x": "a"}), old, context)
    assert [str(e) for e in changed] == ["spec.replicas: Invalid value: 0: too few"]


def test_rules_are_not_run_on_objects_with_broken_metadata() -> None:
    schema = copy_json(SCHEMA)
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "self.replicas > 1"}]
    resource = resource_of(definition(schema))
    nameless = obj(spec={"replicas": 1})
    del nameless["metadata"]["name"]
    large = obj(spec={"replicas": 1})
    large["metadata"]["annotations"] = {"a": "x" * 300_000}
    for broken in (nameless, large):
        found = [str(e) for e in resource.hooks.validate_create(broken, CONTEXT)]
        assert [text.split(";")[0] for text in found] == [
            "<nil>: Invalid value: null: some validation rules were not checked because the object "
            "was invalid"
        ]


def test_scale_reads_and_writes_the_paths_of_the_definition() -> None:
    paths = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.ready",
        "labelSelectorPath": ".status.selector",
    }
    resource = resource_of(definition(subresources={"scale": paths}))
    found = resource.hooks.scale_of(
        obj(spec={"replicas": 3}, status={"ready": 2, "selector": "a=b"})
    )
    assert (found["spec"], found["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "a=b"})
    target = obj()
    resource.hooks.set_scale(target, 4)
    assert target["spec"] == {"replicas": 4}
    with pytest.raises(InternalError, match="the spec replicas field"):
        resource.hooks.scale_of(obj())
    errors = resource.hooks.validate_create(
        obj(spec={"replicas": -1}, status={"ready": "x"}), CONTEXT
    )
    assert [str(e) for e in errors] == [
        ".spec.replicas: Invalid value: -1: should be a non-negative integer",
        ".status.ready: Invalid value: 0: .status.ready accessor error: x is of the type string, "
        "expected int64",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x", "x is of the type string"),
        (True, "true is of the type bool"),
        (None, "<nil> is of the type <nil>"),
        (
            {"b": [1, None], "a": 1.5},
            "map[a:1.5 b:[1 <nil>]] is of the type map[string]interface {}",
        ),
    ],
)
def test_replicas_of_the_wrong_type_are_an_error_without_a_reason(value: Any, shown: str) -> None:
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.ready"}
    resource = resource_of(definition(subresources={"scale": paths}))
    with pytest.raises(PlainError) as raised:
        resource.hooks.scale_of(obj(spec={"replicas": value}))
    assert raised.value.message == f".spec.replicas accessor error: {shown}, expected int64"


def test_replicas_are_not_set_in_what_is_no_object() -> None:
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.ready"}
    resource = resource_of(definition(subresources={"scale": paths}))
    with pytest.raises(PlainError) as raised:
        resource.hooks.set_scale(obj(spec=None), 3)
    assert raised.value.message == (
        "value cannot be set because .spec is not a map[string]interface{}"
    )


def test_cells_come_from_json_paths_and_fit_their_column() -> None:
    columns = [
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
        },
        {"name": "Number", "type": "integer", "jsonPath": ".spec.n"},
        {"name": "Object", "type": "string", "jsonPath": ".spec.o"},
        {"name": "Broken", "type": "string", "jsonPath": ".spec[?("},
        {"name": "Never", "type": "string", "jsonPath": ".spec.n"},
    ]
    resource = resource_of(definition(additionalPrinterColumns=columns))
    assert [c.name for c in resource.versions["v1"].columns] == [
        "Name",
        "Ready",
        "Number",
        "Object",
    ]
    full = obj(
        spec={"n": 2.7, "o": {"a": 1}},
        status={"conditions": [{"type": "X", "status": "?"}, {"type": "Ready", "status": "True"}]},
    )
    assert resource.hooks.cells(full, "v1", NOW) == ["f", "True", 2, '{"a":1}']
    assert resource.hooks.cells(obj(spec={"n": "x"}), "v1", NOW) == ["f", None, None, None]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".a.b", [1]),
        (".a['b']", [1]),
        (".l[0]", ["x"]),
        (".l[-1]", ["z"]),
        (".l[1:]", ["y", "z"]),
        (".l[*]", ["x", "y", "z"]),
        (".with\\.dot", [2]),
        (".absent.b", []),
        ("..b", [1]),
        (".l[0,2]", ["x", "z"]),
        (".l[3:3]", []),
        (".l[:2:2]", ["x"]),
        ("['with\\.dot']", [2]),
        ("['with.dot']", []),
        (".o[?(@.n>1)].m", ["two"]),
        ('.o[?(@.m=="one")].n', [1]),
        (".o[?(@.m)].n", [1, 2]),
        (".a.*", [1]),
        (".l[?(@.x==1)]", []),
        (".a..", [{"b": 1}]),
    ],
)
def test_json_paths(path: str, value: list[Any]) -> None:
    objects = [{"n": 1, "m": "one"}, {"n": 2, "m": "two"}, {"n": 3}]
    assert (
        parse_path(path)({"a": {"b": 1}, "l": ["x", "y", "z"], "with.dot": 2, "o": objects})
        == value
    )


@pytest.mark.parametrize(
    "path", [".a[0]", ".l[5]", ".l[0:9]", ".l[2:1]", ".l[?(@==1)]", ".a[?(@.b)]", ".l[::0]"]
)
def test_a_json_path_that_does_not_fit_the_value_is_an_error(path: str) -> None:
    found = parse_path(path)
    with pytest.raises(PathError):
        found({"a": "text", "l": ["x", "y", "z"]})


@pytest.mark.parametrize("path", [".a[", ".a[x]", ".a[?(@.b==1]", "$.a b", ".a['b", "range"])
def test_what_is_no_json_path(path: str) -> None:
    with pytest.raises(PathError):
        parse_path(path)


def test_lists_in_cells_are_escaped_as_go_does() -> None:
    resource = resource_of(
        definition(
            additionalPrinterColumns=[{"name": "L", "type": "string", "jsonPath": ".spec.l"}]
        )
    )
    assert resource.hooks.cells(obj(spec={"l": ["<a>", 1e-07]}), "v1", NOW) == [
        "f",
        '["\\u003ca\\u003e",1e-7]',
    ]


def test_selectable_fields_differ_by_version() -> None:
    crd = definition(SCHEMA, selectableFields=[{"jsonPath": ".spec.x"}])
    other = {"type": "object", "properties": {"spec": {**SPEC, "description": "another"}}}
    crd["spec"]["versions"].append(
        {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": other}}
    )
    resource = resource_of(crd)
    assert resource.selectable("v1") == ("spec.x",)
    assert resource.selectable("v2") == ()


def test_a_deprecated_version_names_the_one_to_use() -> None:
    crd = definition()
    old = {
        "name": "v1beta1",
        "served": True,
        "storage": False,
        "deprecated": True,
        "schema": crd["spec"]["versions"][0]["schema"],
    }
    crd["spec"]["versions"].append(old)
    assert (
        resource_of(crd).versions["v1beta1"].deprecated
        == "example.com/v1beta1 Foo is deprecated; use example.com/v1 Foo"
    )


def test_equal_schemas_are_compiled_once_for_all_tenants() -> None:
    first, second = (custom_resource(established(definition(copy_json(SCHEMA)))) for _ in range(2))
    assert first.versions["v1"].schema is second.versions["v1"].schema


def test_a_default_that_breaks_a_rule_of_its_field_is_refused() -> None:
    schema: Object = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    schema["properties"]["a"]["x-kubernetes-validations"] = [
        {"rule": "self > 5", "message": "too small"}
    ]
    assert [str(e) for e in create_errors(definition(schema))] == [
        "spec.validation.openAPIV3Schema.properties[a].default: Invalid value: 1: too small"
    ]


def test_an_item_of_a_default_is_named_behind_a_dot() -> None:
    names = {"type": "array", "items": {"type": "string", "maxLength": 1}, "default": ["ab"]}
    assert [
        str(e) for e in create_errors(definition({"type": "object", "properties": {"a": names}}))
    ] == [
        "spec.validation.openAPIV3Schema.properties[a].default.[0]: Too long: may not be more than "
        "1 byte"
    ]


def test_bounds_beyond_64_bits_are_read() -> None:
    schema: Object = {"type": "object", "properties": {"a": {"type": "number", "maximum": 10**20}}}
    resource = resource_of(definition(schema))
    obj = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "a": 1e21}
    assert [str(e) for e in instance_errors(resource, obj, "v1")] == [
        "a: Invalid value: 1e+21: a in body should be less than or equal to 1e+20"
    ]


def test_a_clause_may_not_even_hold_an_empty_list_type() -> None:
    clause = {"x-kubernetes-list-type": "", "additionalProperties": False}
    schema: Object = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}, "anyOf": [clause]}},
    }
    undefined = [str(e) for e in create_errors(definition(schema)) if "undefined" in e.detail]
    assert undefined == [
        "spec.validation.openAPIV3Schema.properties[a].anyOf[0].x-kubernetes-list-type: Forbidden: "
        "must be undefined to be structural"
    ]
