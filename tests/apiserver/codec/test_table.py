from typing import Any, NamedTuple

import pytest

from apiserver.codec.partial import partial_object, refuse_list, refuse_object
from apiserver.codec.table import check_include_object, table
from apiserver.errors import BadRequest


class Column(NamedTuple):
    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


COLUMNS = [Column("Name", format="name"), Column("Data", "integer", priority=1)]
ONE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "one", "resourceVersion": "5"},
    "data": {"a": "b"},
}


def cells(obj: dict[str, Any]) -> list[Any]:
    return [obj["metadata"]["name"], len(obj.get("data", {}))]


def test_rows_carry_metadata_unless_told_otherwise() -> None:
    made = table(
        [ONE], COLUMNS, cells, metadata={"resourceVersion": "9", "selfLink": "x", "continue": ""}
    )
    assert made["metadata"] == {"resourceVersion": "9"}
    assert made["columnDefinitions"][1] == {
        "name": "Data",
        "type": "integer",
        "format": "",
        "description": "",
        "priority": 1,
    }
    partial = {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": ONE["metadata"],
    }
    assert made["rows"] == [{"cells": ["one", 1], "object": partial}]
    none = table([ONE], COLUMNS, cells, metadata={}, include="None", version="v1beta1")
    assert none["apiVersion"] == "meta.k8s.io/v1beta1" and none["rows"][0]["object"] is None
    assert table([ONE], COLUMNS, cells, metadata={}, include="Object")["rows"][0]["object"] == ONE


def test_later_events_have_no_columns_and_the_end_of_initial_events_keeps_its_annotation() -> None:
    bookmark = {"metadata": {"name": "", "annotations": {"k8s.io/initial-events-end": "true"}}}
    made = table([bookmark], COLUMNS, cells, metadata={}, include="None", headers=False)
    assert made["columnDefinitions"] is None
    assert made["rows"][0]["object"]["metadata"]["annotations"] == {
        "k8s.io/initial-events-end": "true"
    }


def test_include_object_is_checked() -> None:
    assert check_include_object("Metadata") == "Metadata"
    with pytest.raises(BadRequest) as e:
        check_include_object("Everything")
    assert e.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Everything": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def test_partial_objects() -> None:
    assert partial_object(ONE, "v1beta1") == {
        "apiVersion": "meta.k8s.io/v1beta1",
        "kind": "PartialObjectMetadata",
        "metadata": ONE["metadata"],
    }


def test_lists_and_objects_are_not_confused() -> None:
    assert refuse_list("", "SecretList").message == (
        "you requested PartialObjectMetadata, but the requested object is a list (*core.SecretList)"
    )
    assert refuse_list("example.com", "WidgetList", custom=True).message.endswith(
        "is a list (*unstructured.UnstructuredList)"
    )
    assert refuse_object("rbac.authorization.k8s.io", "Role").message == (
        "you requested PartialObjectMetadataList, but the requested object is not a list "
        "(*rbac.Role)"
    )


def test_cells_are_of_the_object_and_metadata_of_what_the_kind_shows_alone() -> None:
    bare = {"metadata": {"name": "bare"}}
    (row,) = table([ONE], COLUMNS, cells, metadata={}, bare=lambda obj: bare)["rows"]
    assert row["cells"] == ["one", 1]
    assert row["object"]["metadata"] == {"name": "bare"}
    shown = table([ONE], COLUMNS, cells, metadata={}, bare=lambda obj: bare, include="Object")
    assert shown["rows"][0]["object"] == ONE
