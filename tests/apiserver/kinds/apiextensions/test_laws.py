"""Laws that hold for all definitions and all objects: nothing crashes, what is accepted is read as
it was stored, what stays may stay."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from apiserver.golang.math import whole_numbers
from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.kinds.apiextensions.resource import custom_resource
from apiserver.meta.objects import Object, copy_json
from apiserver.schema.decode import DecodeError
from apiserver.schema.defaults import apply_defaults
from apiserver.schema.prune import decode_custom
from tests.support.definitions import CONTEXT, create_errors, definition, established

NAMES = st.sampled_from(["a", "b", "c", "metadata", "kind"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1e30, 2**40])
    | st.text("ab ä", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
_FLAGS = st.just(True)
_OF_STRINGS = {
    "maxLength": st.integers(0, 2),
    "minLength": st.integers(0, 2),
    "pattern": st.sampled_from(["^a", "(", "b$"]),
    "format": st.sampled_from(["date", "byte", "unheard-of"]),
}
_OF_NUMBERS = {
    "maximum": st.sampled_from([1, 0, 1.5]),
    "minimum": st.sampled_from([0, -1]),
    "multipleOf": st.sampled_from([2, 0.5]),
    "format": st.sampled_from(["int32", "float", "x"]),
}
_ANYWHERE: dict[str, Any] = {
    "default": VALUES,
    "nullable": _FLAGS,
    "enum": st.lists(SCALARS, min_size=1, max_size=2),
    "x-kubernetes-validations": st.just([{"rule": "self == oldSelf"}])
    | st.just([{"rule": "true"}])
    | st.just([{"rule": "1"}]),
}


def _node(kind: str, **more: Any) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({"type": st.just(kind)}, optional={**_ANYWHERE, **more})


def _containers(inner: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    clauses = st.lists(
        st.fixed_dictionaries({"required": st.lists(NAMES, max_size=2)}), min_size=1, max_size=2
    )
    junctors = {"anyOf": clauses, "allOf": clauses}
    lists = {
        "x-kubernetes-list-type": st.sampled_from(["set", "map", "atomic"]),
        "x-kubernetes-list-map-keys": st.just(["a"]),
    }
    members = {
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "required": st.lists(NAMES, max_size=2),
        **junctors,
    }
    kept = {
        "x-kubernetes-preserve-unknown-fields": _FLAGS,
        "x-kubernetes-embedded-resource": _FLAGS,
    }
    return (
        _node("object", **members, **kept)
        | _node("object", additionalProperties=inner | st.booleans())
        | st.tuples(_node("array", **lists), inner).map(lambda made: {**made[0], "items": made[1]})
    )


LEAVES = (
    _node("string", **_OF_STRINGS)
    | _node("integer", **_OF_NUMBERS)
    | _node("number", **_OF_NUMBERS)
    | _node("boolean")
)
SCHEMAS = st.recursive(LEAVES, _containers, max_leaves=6)
DEFINITIONS = st.dictionaries(NAMES, SCHEMAS, min_size=1, max_size=3).map(
    lambda members: definition({"type": "object", "properties": members})
)
OBJECTS = st.dictionaries(
    NAMES.filter(lambda name: name not in ("metadata", "kind")), VALUES, max_size=3
)


def accepted(crd: Object) -> CustomResource:
    try:
        errors = create_errors(crd)
    except DecodeError:
        assume(False)
    assert all(str(e) for e in errors)
    assume(not errors)
    return custom_resource(established(crd))


def read(resource: CustomResource, members: Object) -> Object:
    obj: Object = {
        "apiVersion": "example.com/v1",
        "kind": "Foo",
        "metadata": {"name": "f"},
        **copy_json(members),
    }
    schema = resource.versions["v1"].schema
    try:
        decode_custom(schema, whole_numbers(obj))
    except DecodeError:
        assume(False)
    apply_defaults(schema, obj)
    return obj


def texts(errors: Any) -> set[str]:
    return {str(e) for e in errors}


LAW = settings(
    max_examples=40, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


@LAW
@given(DEFINITIONS)
def test_any_definition_is_judged(crd: Object) -> None:
    accepted(crd)


@LAW
@given(DEFINITIONS, OBJECTS)
def test_what_was_read_is_read_again_as_it_is(crd: Object, members: Object) -> None:
    resource = accepted(crd)
    once = read(resource, members)
    again = copy_json(once)
    assert decode_custom(resource.versions["v1"].schema, again) == []
    apply_defaults(resource.versions["v1"].schema, again)
    assert again == once


@LAW
@given(DEFINITIONS, OBJECTS, OBJECTS)
def test_an_update_is_refused_for_no_more_than_creating_and_what_stays_for_less(
    crd: Object, members: Object, others: Object
) -> None:
    resource = accepted(crd)
    old, new = read(resource, members), read(resource, others)
    created = texts(resource.hooks.validate_create(copy_json(new), CONTEXT))
    updated = texts(resource.hooks.validate_update(copy_json(new), old, CONTEXT))
    assert {text for text in updated if "failed rule: self == oldSelf" not in text} <= created
    assert texts(resource.hooks.validate_update(copy_json(new), new, CONTEXT)) <= created
