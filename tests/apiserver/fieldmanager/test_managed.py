"""metadata.managedFields: decoding, order, times, ageing, resets."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apiserver.fieldmanager.fieldpath import Path, difference, set_of
from apiserver.fieldmanager.managed import (
    InvalidManagedFields,
    Managed,
    Manager,
    cap_update_managers,
    decode_entries,
    encode_entries,
    is_reset,
    keep_times,
    warning_after_admission,
)
from apiserver.fieldmanager.unowned import STRIPPED, owned_part
from apiserver.fieldmanager.updater import Owned


def entry(name: str, operation: str = "Update", fields: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "manager": name,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields or {"f:a": {}},
        **more,
    }


def test_entries_round_trip_in_the_order_of_their_members() -> None:
    given = {
        "manager": "m",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
    }
    given |= {
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:a": {".": {}, "f:b": {}}},
        "subresource": "status",
    }
    made = encode_entries(decode_entries([given]))
    assert made == [given]
    assert list(made[0]) == list(given)


def test_encoded_entries_share_nothing_with_what_was_decoded() -> None:
    given = [entry("m")]
    encode_entries(decode_entries(given))[0]["fieldsV1"]["f:a"]["f:changed"] = {}
    assert encode_entries(decode_entries([entry("m")])) == [entry("m")]


def test_order_of_entries() -> None:
    early, late = {"time": "2026-01-01T00:00:00Z"}, {"time": "2026-01-01T00:00:01Z"}
    ordered = [
        entry("z", "Apply"),
        entry("b", "Apply", **early),
        entry("a", "Apply", **late),
        entry("y", "Update"),
        entry("a", "Update", **early),
        entry("a", "Update", **early, subresource="status"),
        entry("b", "Update", **early),
        entry("a", "Update", apiVersion="v2", **late),
    ]
    assert encode_entries(decode_entries(ordered[::-1])) == ordered


def test_times_are_kept_in_utc_seconds() -> None:
    assert (
        encode_entries(decode_entries([entry("m", time="2026-01-01T02:00:00+02:00")]))[0]["time"]
        == "2026-01-01T00:00:00Z"
    )


def test_an_applier_is_one_manager_in_all_versions_and_an_updater_one_in_each() -> None:
    appliers = decode_entries([entry("m", "Apply"), entry("m", "Apply", apiVersion="v2")])
    assert [owned.version for owned in appliers.fields.values()] == ["v2"]
    assert len(decode_entries([entry("m"), entry("m", apiVersion="v2")]).fields) == 2


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (entry("m", "Delete"), "operation must be `Apply` or `Update`"),
        (entry("m", apiVersion=""), "apiVersion must not be empty"),
        (entry("m", fieldsType=""), "missing fieldsType in managed fields entry 0"),
        (
            entry("m", fieldsType="FieldsV2"),
            'invalid fieldsType "FieldsV2" in managed fields entry 0',
        ),
        (entry("m", fields={"data": {}}), "error decoding set: missing colon: data"),
        (entry("m", time="yesterday"), "error decoding time"),
        ("m", "not an object"),
    ],
)
def test_invalid_entries(bad: Any, text: str) -> None:
    with pytest.raises(InvalidManagedFields, match=text):
        decode_entries([bad])


@pytest.mark.parametrize(
    ("entries", "reset"),
    [
        ([], True),
        ([{}], True),
        ([{"manager": ""}], True),
        (None, False),
        ([{}, {}], False),
        ([entry("m")], False),
    ],
)
def test_reset(entries: Any, reset: bool) -> None:
    assert is_reset(entries) is reset


def test_identifiers_and_texts() -> None:
    assert (
        Manager("m", "Update", "v1").identifier
        == '{"manager":"m","operation":"Update","apiVersion":"v1"}'
    )
    assert (
        Manager("", "Apply", "", "status").identifier
        == '{"operation":"Apply","subresource":"status"}'
    )
    assert Manager("a<b", "Update", "v1").identifier > Manager("a=b", "Update", "v1").identifier, (
        "Go escapes < in JSON"
    )
    assert str(Manager("m", "Update", "v1", "scale")) == '"m" with subresource "scale" using v1'
    assert str(Manager("m", "Apply", "")) == '"m"'


def updaters(count: int, version: str = "v1") -> Managed:
    managed = Managed()
    for i in range(count):
        manager = Manager(f"m{i:02}", "Update", version)
        managed.fields[manager] = Owned({f"f:{i}": {}}, version, False)
        managed.times[manager] = f"2026-01-01T00:00:{i:02}Z"
    return managed


def test_ten_updaters_stay_and_the_oldest_of_more_become_one() -> None:
    assert cap_update_managers(updaters(10)) == updaters(10)
    capped = cap_update_managers(updaters(12))
    assert len(capped.fields) == 10
    ancient = Manager("ancient-changes", "Update", "v1")
    assert set(capped.fields[ancient].fields) == {"f:0", "f:1", "f:2"}
    assert capped.times[ancient] == "2026-01-01T00:00:02Z"


def test_versions_age_apart_and_appliers_do_not_age() -> None:
    managed = updaters(10)
    managed.fields[Manager("old", "Update", "v0")] = Owned({"f:x": {}}, "v0", False)
    managed.fields |= {
        Manager(f"a{i}", "Apply", ""): Owned({"f:y": {}}, "v1", True) for i in range(20)
    }
    capped = cap_update_managers(managed)
    assert Manager("old", "Update", "v0") in capped.fields
    assert sum(not owned.applied for owned in capped.fields.values()) == 10
    assert sum(owned.applied for owned in capped.fields.values()) == 20


def test_times_are_kept_when_nothing_else_differs() -> None:
    live = {
        "metadata": {"managedFields": [entry("m", time="2026-01-01T00:00:00Z")]},
        "data": {"a": "1"},
    }
    later = {
        "metadata": {"managedFields": [entry("m", time="2026-02-02T00:00:00Z")]},
        "data": {"a": "1"},
    }
    assert keep_times(later, live, has_go_type=True) == live
    changed = {**later, "data": {"a": "2"}}
    assert keep_times(changed, live, has_go_type=True) is changed
    others = {
        **later,
        "metadata": {
            "managedFields": [entry("m", fields={"f:b": {}}, time="2026-02-02T00:00:00Z")]
        },
    }
    assert keep_times(others, live, has_go_type=True) is others
    emptied = {**later, "rules": []}
    assert (
        keep_times(emptied, {**live, "rules": None}, has_go_type=True)["metadata"]
        == (live["metadata"])
    )
    assert keep_times(emptied, {**live, "rules": None}, has_go_type=False) is emptied


def test_warning_after_admission() -> None:
    assert warning_after_admission([entry("m")]) == warning_after_admission(None) == ""
    assert warning_after_admission([entry("m", "Delete")]).endswith(
        "please fix your requests: operation must be `Apply` or `Update`"
    )


NODES = ["f:apiVersion", "f:kind", "f:metadata", "f:name", "f:labels", "f:uid", "f:spec"]
node_paths = st.lists(st.sampled_from(NODES), min_size=1, max_size=3).map(tuple)


@given(st.frozensets(node_paths, max_size=8))
@example(frozenset({("f:metadata",), ("f:metadata", "f:name")}))
@example(frozenset({("f:metadata", "f:labels", "f:x"), ("f:kind",)}))
@example(frozenset({("f:metadata", "f:name", "f:x"), ("f:metadata", "f:uid")}))
@example(frozenset({("f:kind", "f:x")}))
def test_the_part_that_is_owned_is_all_but_what_nobody_owns(paths: frozenset[Path]) -> None:
    fields = set_of(*paths)
    before = copy.deepcopy(fields)
    part = owned_part(fields)
    assert part == difference(fields, STRIPPED)
    assert list(part) == list(difference(fields, STRIPPED))
    assert fields == before
