from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.kinds.catalog import resources
from apiserver.kinds.common.eventforms import to_core, to_events
from apiserver.meta.gvk import GroupResource
from tests.support.kindtools import cells, create, update

CORE = resources()[GroupResource("", "events")].hooks
EVENTS = resources()[GroupResource("events.k8s.io", "events")].hooks
TIMES = st.sampled_from([None, "2026-01-01T00:00:00Z"])
CORE_EVENTS = st.fixed_dictionaries(
    {
        "involvedObject": st.fixed_dictionaries(
            {}, optional={"kind": st.just("Pod"), "namespace": st.just("ns")}
        ),
        "source": st.fixed_dictionaries({}, optional={"component": st.just("kubelet")}),
        "firstTimestamp": TIMES,
        "lastTimestamp": TIMES,
        "eventTime": TIMES,
        "reportingComponent": st.sampled_from(["", "x"]),
        "reportingInstance": st.sampled_from(["", "y"]),
    },
    optional={
        "reason": st.text(min_size=1),
        "message": st.text(min_size=1),
        "count": st.integers(1, 9),
        "type": st.just("Normal"),
        "related": st.sampled_from([{}, {"kind": "Pod"}]),
        "series": st.fixed_dictionaries(
            {"lastObservedTime": TIMES}, optional={"count": st.integers(1, 9)}
        ),
    },
)


@given(CORE_EVENTS)
def test_no_form_loses_anything(members: dict[str, Any]) -> None:
    event = {"kind": "Event", "apiVersion": "v1", "metadata": {"name": "e"}, **members}
    before = copy.deepcopy(event)
    new = to_events(event)
    assert new["apiVersion"] == "events.k8s.io/v1"
    assert to_core(new) == event == before
    assert to_events(to_core(new)) == new
    assert CORE.fields(event) == EVENTS.fields(new)
    assert new.get("related") == members.get("related")
    if "series" in members:
        assert new["series"] == {"count": 0, **members["series"]}


def new_event(**members: Any) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ns"},
        "eventTime": "2026-01-02T03:03:05.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "action": "Sync",
        "reason": "Synced",
        "type": "Normal",
        "regarding": {"kind": "ConfigMap", "name": "cm", "namespace": "ns"},
        **members,
    }


def test_only_the_series_of_a_new_event_changes() -> None:
    old = create(new_event()).obj
    series = {"count": 3, "lastObservedTime": "2026-01-02T03:04:00.000000Z"}
    assert update({**old, "series": series}, old).messages == []
    assert update({**old, "note": "other"}, old).messages == [
        'message: Invalid value: "other": field is immutable'
    ]


@pytest.mark.parametrize(
    ("controller", "complaints"),
    [
        ("", ["Required value", 'Invalid value: "": name part must be non-empty']),
        ("bad name", ['Invalid value: "bad name": name part must consist of']),
    ],
)
@pytest.mark.parametrize(
    ("form", "field"),
    [(to_core, "reportingComponent"), (to_events, "reportingController")],
)
def test_the_controller_is_named_as_in_the_group_of_the_request(
    form: Callable[[dict[str, Any]], dict[str, Any]],
    field: str,
    controller: str,
    complaints: list[str],
) -> None:
    found = create({**form(new_event(reportingController=controller))}).messages
    for complaint in complaints:
        assert any(text.startswith(f"{field}: {complaint}") for text in found), found
    assert {text.partition(":")[0] for text in found} == {field}


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, {}, "{"),
        ({}, None, "null"),
        ({"kind": "Secret"}, {"kind": "Secret"}, None),
        ({}, {}, None),
    ],
)
def test_an_empty_related_object_is_not_none(
    before: dict[str, Any] | None, after: dict[str, Any] | None, shown: str | None
) -> None:
    old = create(new_event(**({} if before is None else {"related": before}))).obj
    wanted = {k: v for k, v in old.items() if k != "related"}
    found = update(wanted if after is None else {**wanted, "related": after}, old).messages
    if shown is None:
        assert found == []
    else:
        (text,) = found
        assert text.startswith(f"related: Invalid value: {shown}")
        assert text.endswith("field is immutable")


def test_old_style_events_may_change() -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ns"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ns"},
    }
    old = create(event).obj
    assert update({**old, "message": "other", "count": 2}, old).messages == []


def test_tables_of_both_forms_agree() -> None:
    made = create(new_event(note=" all good "))
    row = cells(made.obj)
    assert row == cells({**to_core(made.obj)})
    assert (row["Last Seen"], row["Object"], row["Message"], row["Count"], row["Source"]) == (
        "60s",
        "configmap/cm",
        "all good",
        1,
        "example.com/c, i",
    )


def test_field_selectors_use_each_groups_own_names() -> None:
    assert EVENTS.field_alias("v1", "regarding.name") == "involvedObject.name"
    assert EVENTS.field_alias("v1", "involvedObject.name") == ""
    assert CORE.field_alias("v1", "involvedObject.name") == "involvedObject.name"
