"""FieldManager: what recordings do not show - versions, errors, times, and that arguments stay as
they are."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apiserver.errors import ApiError, ApplyConflict, BadRequest, PlainError
from apiserver.fieldmanager.manager import FieldManager
from apiserver.fieldmanager.updater import MissingVersion
from apiserver.schema.decode_errors import Empty
from apiserver.schema.structural import structural as schema_from
from apiserver.schema.types import Schema

NOW = datetime(2026, 1, 1, tzinfo=UTC)
UNTYPED = "failed to create typed patch object"
STRING = {"type": "string"}
MAP = {"type": "object", "additionalProperties": STRING}
V1 = schema_from(
    {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"old": STRING, "map": MAP}}},
    }
)
V2 = schema_from(
    {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"new": STRING, "map": MAP}}},
    }
)
SCHEMAS: dict[str, Schema] = {"g/v1": V1, "g/v2": V2}


def convert(obj: dict[str, Any], version: str) -> dict[str, Any]:
    """spec.old of v1 is spec.new of v2."""
    if version not in SCHEMAS:
        raise MissingVersion(version)
    names = {"old": "new"} if version == "g/v2" else {"new": "old"}
    return {
        **obj,
        "apiVersion": version,
        "spec": {names.get(k, k): v for k, v in obj.get("spec", {}).items()},
    }


def manager(**options: Any) -> FieldManager:
    return FieldManager("Kind", SCHEMAS.get, convert, **options)


def obj(version: str = "g/v1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "kind": "Kind",
        "metadata": {"name": "n", "uid": "u"},
        "spec": spec,
    }


def intent(version: str = "g/v1", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "Kind", "metadata": {"name": "n"}, "spec": spec}


def owners(found: dict[str, Any]) -> dict[tuple[str, str, str], Any]:
    return {
        (e["manager"], e["operation"], e["apiVersion"]): e["fieldsV1"]
        for e in found["metadata"].get("managedFields", [])
    }


def times(found: dict[str, Any]) -> dict[str, str | None]:
    return {e["manager"]: e.get("time") for e in found["metadata"].get("managedFields", [])}


def apply(
    live: dict[str, Any] | None,
    wanted: dict[str, Any],
    name: str = "a",
    *,
    force: bool = False,
    at: datetime = NOW,
) -> dict[str, Any]:
    return manager().apply(
        live, wanted, name, force=force, api_version=wanted["apiVersion"], now=at
    )


def update(
    live: dict[str, Any] | None, new: dict[str, Any], name: str = "u", *, at: datetime = NOW
) -> dict[str, Any]:
    return manager().update(live, new, name, api_version=new["apiVersion"], now=at)


def with_uid(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "metadata": {**found["metadata"], "uid": "u"}}


# --- versions -------------------------------------------------------------------------------------
def test_managers_of_one_version_conflict_in_another() -> None:
    live = with_uid(apply(None, intent(old="1")))
    there = convert(live, "g/v2")
    with pytest.raises(ApplyConflict) as error:
        apply(there, intent("g/v2", new="2"), "b")
    assert error.value.details == {
        "causes": [
            {"reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".spec.old"}
        ]
    }


def test_an_applier_that_changes_versions_gives_up_what_it_leaves_out() -> None:
    live = with_uid(apply(None, intent(old="1", map={"k": "v", "l": "w"})))
    moved = apply(live, intent("g/v2", map={"l": "w"}))
    assert (moved["apiVersion"], moved["spec"]) == ("g/v2", {"map": {"l": "w"}})
    assert owners(moved) == {("a", "Apply", "g/v2"): {"f:spec": {"f:map": {"f:l": {}}}}}


def test_an_update_in_another_version_takes_what_it_changes_there() -> None:
    live = with_uid(apply(None, intent(old="1", map={"k": "v"})))
    new = convert(live, "g/v2")
    new["spec"]["new"] = "2"
    assert owners(update(live, new)) == {
        ("a", "Apply", "g/v1"): {"f:spec": {"f:map": {"f:k": {}}}},
        ("u", "Update", "g/v2"): {"f:spec": {"f:new": {}}},
    }


def test_managers_of_versions_that_are_gone_are_dropped() -> None:
    live = with_uid(apply(None, intent(old="1")))
    live["metadata"]["managedFields"].append(
        {**live["metadata"]["managedFields"][0], "apiVersion": "g/v0", "manager": "gone"}
    )
    assert set(owners(update(live, {**live, "spec": {"old": "2"}}))) == {("u", "Update", "g/v1")}
    assert set(owners(apply(live, intent(old="1")))) == {("a", "Apply", "g/v1")}


def test_failing_conversion_fails_apply_and_clears_the_owners_of_an_update() -> None:
    def broken(_: dict[str, Any], version: str) -> dict[str, Any]:
        raise ValueError(f"no way to {version}")

    live = with_uid(apply(None, intent("g/v2", new="1")))
    live = {**live, "apiVersion": "g/v1", "spec": {"old": "1"}}
    fields = FieldManager("Kind", SCHEMAS.get, broken)
    with pytest.raises(PlainError, match="no way to g/v2"):
        fields.apply(live, intent(old="2"), "b", force=True, api_version="g/v1", now=NOW)
    found = fields.update(live, {**live, "spec": {"old": "2"}}, "u", api_version="g/v1", now=NOW)
    assert "managedFields" not in found["metadata"]


# --- refusals -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wanted", "error", "text"),
    [
        ({**intent(), "kind": "Other"}, BadRequest, "invalid object type: g/v1, Kind=Other"),
        ({**intent(), "apiVersion": "v1"}, BadRequest, "invalid object type: /v1, Kind=Kind"),
        ({"spec": {}}, BadRequest, "invalid object type: /, Kind="),
        ({**intent(), "apiVersion": "a/b/c"}, BadRequest, "invalid object type: /, Kind="),
        (
            {**intent(), "metadata": {"managedFields": []}},
            BadRequest,
            "metadata.managedFields must be nil",
        ),
        (
            intent(nope="1"),
            PlainError,
            f"{UNTYPED} (/n; g/v1, Kind=Kind): .spec.nope: field not declared in schema",
        ),
        (
            {**intent(), "metadata": []},
            PlainError,
            f"{UNTYPED} (/; g/v1, Kind=Kind): .metadata: expected map, got &{{[]}}",
        ),
    ],
)
def test_refused_intents(wanted: dict[str, Any], error: type[ApiError], text: str) -> None:
    with pytest.raises(error) as raised:
        manager().apply(obj(), wanted, "a", force=False, api_version="g/v1", now=NOW)
    assert raised.value.message == text


def test_a_live_object_that_fits_no_more() -> None:
    live = obj(old="1")
    live["spec"]["gone"] = 1
    with pytest.raises(PlainError) as error:
        apply(live, intent(old="1"))
    assert error.value.message == (
        "failed to create manager for existing fields: failed to convert new object (/n; g/v1, "
        "Kind=Kind) to smd typed: "
        ".spec.gone: field not declared in schema"
    )
    assert "managedFields" not in update(with_uid(apply(None, intent(old="1"))), live)["metadata"]


def test_what_the_live_object_is_comes_before_managers_in_the_intent() -> None:
    live = obj(old="1")
    live["spec"]["gone"] = 1
    wanted = {**intent(), "metadata": {"managedFields": []}}
    with pytest.raises(PlainError, match="failed to create manager for existing fields"):
        manager().apply(live, wanted, "a", force=False, api_version="g/v1", now=NOW)


def test_conflicts_of_several_managers_are_listed_by_manager() -> None:
    live = with_uid(apply(None, intent(old="1", map={"k": "v"}), "b"))
    live = update(live, {**live, "spec": {"old": "1", "map": {"k": "v", "x": "y"}}}, "a")
    with pytest.raises(ApplyConflict) as error:
        apply(live, intent(old="2", map={"k": "2", "x": "2"}), "c")
    assert error.value.message == (
        'Apply failed with 3 conflicts: conflicts with "a" using g/v1:\n- .spec.map.x\nconflicts '
        'with "b":\n- .spec.old\n- .spec.map.k'
    )


def test_finish_decodes_what_apply_made_and_its_errors_are_told() -> None:
    def finish(merged: dict[str, Any], empties: list[Empty]) -> dict[str, Any]:
        if merged["spec"].get("old") == "bad":
            raise ValueError("it is bad")
        return {**merged, "spec": {**merged["spec"], "map": {"default": "1"}}}

    fields = manager(finish=finish)
    made = fields.apply(None, intent(old="1"), "a", force=False, api_version="g/v1", now=NOW)
    assert made["spec"] == {"old": "1", "map": {"default": "1"}}
    assert owners(made) == {("a", "Apply", "g/v1"): {"f:spec": {"f:old": {}}}}
    with pytest.raises(PlainError) as error:
        fields.apply(None, intent(old="bad"), "a", force=False, api_version="g/v1", now=NOW)
    assert (
        error.value.message
        == "failed to convert new object (/n; g/v1, Kind=Kind) to proper version: it is bad"
    )


# --- times ----------------------------------------------------------------------------------------
def test_times_move_only_with_changes() -> None:
    later = NOW + timedelta(hours=1)
    live = with_uid(apply(None, intent(old="1")))
    assert apply(live, intent(old="1"), at=later) == live
    shared = apply(live, intent(old="1"), "b", at=later)
    assert times(shared) == {"a": "2026-01-01T00:00:00Z", "b": None}
    changed = apply(live, intent(old="2"), at=later)
    assert times(changed) == {"a": "2026-01-01T01:00:00Z"}
    updated = update(live, {**live, "spec": {"old": "3"}}, at=later)
    assert times(updated) == {"u": "2026-01-01T01:00:00Z"}
    assert times(update(updated, updated, "other", at=later)) == times(updated)


def test_an_update_that_only_removes_leaves_no_entry() -> None:
    live = with_uid(apply(None, intent(old="1", map={"k": "v"})))
    found = update(live, {**live, "spec": {"map": {"k": "v"}}})
    assert owners(found) == {("a", "Apply", "g/v1"): {"f:spec": {"f:map": {"f:k": {}}}}}


# --- arguments ------------------------------------------------------------------------------------
def test_arguments_stay_as_they_are_and_results_of_apply_share_nothing() -> None:
    live, wanted = (
        with_uid(apply(None, intent(old="1", map={"k": "v"}))),
        intent(old="1", map={"x": "y"}),
    )
    before = copy.deepcopy((live, wanted))
    made = apply(live, wanted, "b")
    made["spec"]["map"]["k"] = made["spec"]["map"]["x"] = "changed"
    made["metadata"]["managedFields"].clear()
    update(live, {**live, "spec": {}})
    assert (live, wanted) == before
