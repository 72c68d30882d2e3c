"""The text of patched objects: what no patch touched keeps Go's order, the rest is sorted."""

from typing import Any

import pytest

from apiserver.meta.gvk import GroupVersionKind
from apiserver.patch.text import merged_text, patched_text
from apiserver.schema.builtin import schema_for

QUOTA = schema_for(GroupVersionKind("", "v1", "ResourceQuota"))
DOC: dict[str, Any] = {
    "status": {},
    "spec": {"hard": {"pods": "1", "cpu": "2"}},
    "metadata": {"uid": "u", "labels": {"b": "<", "a": "1"}, "name": "q"},
    "kind": "ResourceQuota",
    "apiVersion": "v1",
}
METADATA = r'{"name":"q","uid":"u","labels":{"a":"1","b":"\u003c"}}'


@pytest.mark.parametrize(
    ("patch", "spec"),
    [
        ({"spec": {"hard": "x"}}, '{"hard":"x"}'),
        ({"spec": {"hard": [{"z": 1, "a": None}]}}, '{"hard":[{"z":1,"a":null}]}'),
        (
            {"spec": {"scopes": [{"z": 1, "a": None}]}},
            '{"hard":{"cpu":"2","pods":"1"},"scopes":[{"z":1}]}',
        ),
        ({"spec": {"hard": {"cpu": None}}}, '{"hard":{"pods":"1"}}'),
    ],
)
def test_merge_patches(patch: dict[str, Any], spec: str) -> None:
    whole = f'{{"apiVersion":"v1","kind":"ResourceQuota","metadata":{METADATA},"spec":{spec}'
    assert merged_text(DOC, patch, QUOTA) == whole + ',"status":{}}'


def test_merge_patches_of_objects_without_a_type_are_sorted() -> None:
    assert merged_text({"b": {"d": 1, "c": 2}, "a": 1}, {}, None) == '{"a":1,"b":{"c":2,"d":1}}'


def test_json_patches_sort_what_they_went_through() -> None:
    operations = [{"op": "add", "path": "/metadata/labels/c", "value": {"z": 1, "a": 2}}]
    assert patched_text(DOC, operations, QUOTA).startswith(
        r'{"apiVersion":"v1","kind":"ResourceQuota","metadata":'
        r'{"labels":{"a":"1","b":"\u003c","c":{"z":1,"a":2}},"name":"q","uid":"u"}'
    )


def test_structs_are_written_when_they_are_empty_and_lists_are_not() -> None:
    pod = schema_for(GroupVersionKind("", "v1", "Pod"))
    containers = [{"name": "c", "resources": {}, "args": []}]
    text = merged_text({"spec": {"containers": containers}}, {"x": 1}, pod)
    assert text == '{"spec":{"containers":[{"name":"c","resources":{}}]},"x":1}'
