"""Embedded resources: what is read of them, what is refused, and what defaults inside them must
come to."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.kinds.apiextensions.embedded import validate_embedded
from apiserver.meta.objects import Object
from apiserver.schema.decode import DecodeError
from apiserver.schema.prune import decode_custom
from apiserver.schema.structural import structural
from tests.support.definitions import create_errors, definition

EMBEDDED: Object = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
TYPE = {"apiVersion": "v1", "kind": "Foo"}
_FORM = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
    "'-', and must start and end with an alphanumeric"
)


def holder(embedded: Object = EMBEDDED) -> Any:
    return structural({"type": "object", "properties": {"o": embedded}})


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({}, ["o.apiVersion: Required value", "o.kind: Required value"]),
        ({**TYPE, "metadata": {}}, []),
        ({**TYPE, "metadata": {"name": "a_b.C", "namespace": "x", "labels": {"a": "b"}}}, []),
        (
            {**TYPE, "kind": "Bad Kind"},
            [
                'o.kind: Invalid value: "Bad Kind": may have mixed case, but should otherwise '
                "match: a DNS-1035"
            ],
        ),
        (
            {**TYPE, "apiVersion": "a/b/c"},
            ['o.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        ({**TYPE, "apiVersion": ""}, ['o.apiVersion: Invalid value: "": must not be empty']),
        ({**TYPE, "kind": 1}, ["o.kind: Invalid value: 1: must be a string"]),
        (
            {**TYPE, "metadata": {"name": "a/b"}},
            ["o.metadata.name: Invalid value: \"a/b\": may not contain '/'"],
        ),
        (
            {**TYPE, "metadata": {"namespace": "A"}},
            [f'o.metadata.namespace: Invalid value: "A": {_FORM}'],
        ),
        (
            {**TYPE, "metadata": {"labels": {"a": "b c"}}},
            ['o.metadata.labels: Invalid value: "b c": a valid label must be an empty string'],
        ),
        (
            {**TYPE, "metadata": {"generation": -1}},
            ["o.metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {**TYPE, "metadata": {"labels": {"a": 1}}},
            ['o.metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number'],
        ),
    ],
)
def test_what_they_must_hold(value: Object, wanted: list[str]) -> None:
    found = [str(e) for e in validate_embedded(holder(), {"o": value})]
    assert len(found) == len(wanted)
    assert all(text.startswith(start) for text, start in zip(found, wanted, strict=True)), found


def test_what_cannot_be_read_is_refused_in_requests_and_dropped_from_storage() -> None:
    def sent() -> Object:
        return {
            "o": {
                "apiVersion": 42,
                "kind": "Foo",
                "metadata": {"name": "a", "namespace": ["b"], "labels": {"c": 1}, "x": 1},
            }
        }

    with pytest.raises(DecodeError, match=r"o\.apiVersion: Invalid value: 42: must be a string"):
        decode_custom(holder(), sent())
    stored = sent()
    decode_custom(holder(), stored, lenient=True)
    assert stored == {"o": {"kind": "Foo", "metadata": {"name": "a"}}}


def test_unknown_fields_of_their_metadata_are_reported_after_all_others() -> None:
    plain: Object = {
        **EMBEDDED,
        "x-kubernetes-preserve-unknown-fields": False,
        "properties": {"a": {"type": "string"}},
    }
    obj = {"o": {**TYPE, "metadata": {"name": "a", "x": 1}, "y": 1}, "z": 1}
    assert decode_custom(holder(plain), obj) == [
        'unknown field "o.y"',
        'unknown field "z"',
        'unknown field "o.metadata.x"',
    ]


@pytest.mark.parametrize(
    ("member", "default", "wanted"),
    [
        ("kind", "foo.bar", "must result in valid metadata: kind: Invalid value"),
        ("apiVersion", "v1", ""),
        (
            "name",
            "a/b",
            'must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain '
            "'/'",
        ),
        (
            "labels",
            {"a": "b c"},
            'must result in valid metadata: metadata.labels: Invalid value: "b c"',
        ),
        (
            "labels",
            {"a": 1},
            'must result in valid metadata: metadata: Invalid value: {"labels":{"a":1}}: json: '
            "cannot unmarshal number",
        ),
    ],
)
def test_defaults_in_their_metadata_must_make_good_metadata(
    member: str, default: Any, wanted: str
) -> None:
    kind = "object" if member == "labels" else "string"
    inner: Object = {"type": kind, "default": default}
    if kind == "object":
        inner["additionalProperties"] = {"type": "string"}
    top = member in ("kind", "apiVersion")
    properties = (
        {member: inner} if top else {"metadata": {"type": "object", "properties": {member: inner}}}
    )
    found = create_errors(
        definition({"type": "object", "properties": {"o": {**EMBEDDED, "properties": properties}}})
    )
    where = (
        f"properties[o].properties[{member}]"
        if top
        else f"properties[o].properties[metadata].properties[{member}]"
    )
    assert [e.path for e in found] == (
        [f"spec.validation.openAPIV3Schema.{where}.default"] if wanted else []
    )
    assert all(e.detail.startswith(wanted) for e in found)


def test_a_default_that_is_a_resource_is_checked_as_one() -> None:
    schema: Object = {
        "type": "object",
        "properties": {"o": {**EMBEDDED, "default": {"metadata": {"name": "a/b"}}}},
    }
    path = "spec.validation.openAPIV3Schema.properties[o].default"
    assert [str(e) for e in create_errors(definition(schema))] == [
        f"{path}.apiVersion: Required value",
        f"{path}.kind: Required value",
        f"{path}.metadata.name: Invalid value: \"a/b\": may not contain '/'",
    ]
