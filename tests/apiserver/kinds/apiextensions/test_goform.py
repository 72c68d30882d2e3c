"""How messages quote parts of a definition: as Go's JSON of types without JSON names."""

from __future__ import annotations

import json
from typing import Any

from apiserver.kinds.apiextensions.goform import quoted_versions
from apiserver.meta.objects import Object
from tests.support.definitions import create_errors, definition


def shown(errors: Any, detail: str) -> Any:
    """The value of the error with that detail, read back, in the order in which it was written."""
    found = [str(e) for e in errors if e.detail.startswith(detail)]
    assert len(found) == 1, [str(e) for e in errors]
    return json.loads(found[0].partition("Invalid value: ")[2].partition(f": {detail}")[0])


def test_a_schema_that_says_too_much_beside_a_status_subresource() -> None:
    schema: Object = {
        "type": "object",
        "minProperties": 0,
        "properties": {
            "a": {"type": "string", "default": "<"},
            "b": {"type": "object", "example": {"y": [{"d": 1, "c": 2}], "x": 1}},
        },
    }
    errors = create_errors(definition(schema, subresources={"status": {}}))
    value = shown(errors, "only [Description Type Format Title Maximum")
    assert list(value)[:6] == ["ID", "Schema", "Ref", "Description", "Type", "Nullable"]
    assert (
        value["Type"],
        value["MinProperties"],
        value["MaxProperties"],
        value["XValidations"],
    ) == ("object", 0, None, None)
    assert value["Properties"]["a"]["Default"] == "<"
    assert list(value["Properties"]["b"]["Example"]) == ["x", "y"]
    assert list(value["Properties"]["b"]["Example"]["y"][0]) == ["c", "d"]
    assert "\\u003c" in str(errors[0])


def test_a_warning_stands_behind_a_pointer_and_is_shown_as_json() -> None:
    (error,) = create_errors(definition(deprecationWarning="old <\x01>"))
    assert str(error).endswith(
        '"old \\u003c\\u0001\\u003e": can only be set for deprecated versions'
    )


def test_versions_without_what_they_share() -> None:
    crd = definition(additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": ".a"}])
    second = {**crd["spec"]["versions"][0], "name": "v2", "subresources": {"status": {}}}
    del second["additionalPrinterColumns"]
    crd["spec"]["versions"].append(second)
    first, other = shown(
        create_errors(crd), "must have exactly one version marked as storage version"
    )
    assert list(first)[:5] == ["Name", "Served", "Storage", "Deprecated", "DeprecationWarning"]
    assert first["AdditionalPrinterColumns"] == [
        {
            "Name": "A",
            "Type": "string",
            "Format": "",
            "Description": "",
            "Priority": 0,
            "JSONPath": ".a",
        }
    ]
    assert (first["Schema"], first["Subresources"]) == (None, None)
    assert (other["Subresources"], other["AdditionalPrinterColumns"]) == (
        {"Status": {}, "Scale": None},
        None,
    )


def test_versions_of_which_some_have_an_empty_list_and_others_none_share_it() -> None:
    (first,) = definition()["spec"]["versions"]
    second = {**first, "name": "v2", "additionalPrinterColumns": []}
    for versions in ([first, second], [second, first]):
        found = json.loads(str(quoted_versions(versions)))
        assert [version["AdditionalPrinterColumns"] for version in found] == [None, None]
