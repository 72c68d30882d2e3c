"""How endpoints are dealt to slices: the cases of kubernetes' reconciler, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from apiserver.controllers.slicing import (
    HEADLESS,
    MANAGED_BY,
    MOST,
    SERVICE_NAME,
    Plan,
    Wanted,
    deal,
    hint,
    identity,
    key_of_ports,
)
from apiserver.meta.objects import Object

HTTP = [{"name": "http", "port": 80, "protocol": "TCP"}]
DNS = [{"name": "dns", "port": 53, "protocol": "UDP"}]
LABELS = {SERVICE_NAME: "s", MANAGED_BY: "c", "app": "web"}


def endpoint(number: int, ready: bool = True, **more: Any) -> Object:
    target = {"kind": "Pod", "namespace": "ns", "name": f"p{number}", "uid": f"u{number}"}
    conditions = {"ready": ready, "serving": ready, "terminating": False}
    return {
        "addresses": [f"10.0.0.{number}"],
        "conditions": conditions,
        "targetRef": target,
        **more,
    }


def slice_(name: str, numbers: Sequence[int], ports: list[Object] = HTTP, **labels: str) -> Object:
    metadata = {"name": name, "labels": {**LABELS, **labels}}
    return {"metadata": metadata, "ports": ports, "endpoints": [endpoint(n) for n in numbers]}


def wanted(endpoints: Sequence[Object], ports: list[Object] = HTTP) -> Any:
    return {key_of_ports(ports): Wanted(ports, {identity(e): e for e in endpoints})}


def dealt(numbers: Sequence[int], existing: Sequence[Object], **more: Any) -> Plan:
    return deal(wanted([endpoint(n) for n in numbers]), existing, LABELS, **more)


def told(plan: Plan) -> Object:
    """Numbers of endpoints by the names of their slices."""

    def numbers(endpoints: Sequence[Object]) -> list[int]:
        return [int(e["targetRef"]["name"][1:]) for e in endpoints]

    update = {u.before["metadata"]["name"]: numbers(u.endpoints) for u in plan.update if u.before}
    return {
        "create": [numbers(one.endpoints) for one in plan.create],
        "update": update,
        "delete": [one["metadata"]["name"] for one in plan.delete],
        "keep": [one["metadata"]["name"] for one in plan.keep],
    }


NOTHING: Object = {"create": [], "update": {}, "delete": [], "keep": []}


@pytest.mark.parametrize(
    ("numbers", "existing", "expected"),
    [
        ([1, 2], [], {"create": [[1, 2]]}),
        ([1, 2], [slice_("a", [1, 2])], {"keep": ["a"]}),
        # a new one goes where there is room
        ([1, 2, 3], [slice_("a", [1, 2])], {"update": {"a": [1, 2, 3]}}),
        # and where something changes anyway: b loses 4, and gets 5
        (
            [1, 2, 3, 5],
            [slice_("a", [1, 2]), slice_("b", [3, 4])],
            {"keep": ["a"], "update": {"b": [3, 5]}},
        ),
        # nothing is moved together
        ([1, 3], [slice_("a", [1]), slice_("b", [3])], {"keep": ["a", "b"]}),
        # a slice that has none any more goes
        ([1], [slice_("a", [1]), slice_("b", [2])], {"keep": ["a"], "delete": ["b"]}),
        # what two slices have stays in the first
        ([1], [slice_("a", [1]), slice_("b", [1])], {"keep": ["a"], "delete": ["b"]}),
        # a slice whose ports nobody has becomes the one that is made
        ([1], [slice_("a", [1], DNS)], {"update": {"a": [1]}}),
        (
            [1],
            [slice_("a", [1], DNS), slice_("b", [1], [])],
            {"update": {"a": [1]}, "delete": ["b"]},
        ),
        # the label of the Service has changed
        ([1], [slice_("a", [1], app="other")], {"update": {"a": [1]}}),
        ([1], [slice_("a", [1], **{HEADLESS: ""})], {"keep": ["a"]}),
        # none: a slice that says so
        ([], [], {"create": [[]]}),
        ([], [slice_("a", [], [])], {"keep": ["a"]}),
        ([], [slice_("a", [], [], app="other")], {"update": {"a": []}}),
        ([], [slice_("a", [1])], {"update": {"a": []}}),
        ([], [slice_("a", [], []), slice_("b", [1])], {"update": {"a": []}, "delete": ["b"]}),
        ([1], [slice_("a", [], [])], {"update": {"a": [1]}}),
    ],
)
def test_what_is_written(numbers: list[int], existing: list[Object], expected: Object) -> None:
    groups = wanted([endpoint(n) for n in numbers]) if numbers else {}
    assert told(deal(groups, existing, LABELS)) == NOTHING | expected


def test_what_is_full_is_left_and_what_fits_best_is_filled() -> None:
    full = list(range(MOST))
    plan = dealt([*full, 200, 201, *range(300, 398), 400], [
        slice_("full", full), slice_("less", [200]), slice_("more", list(range(300, 398)))
    ])  # fmt: skip
    assert told(plan)["update"] == {"more": [*range(300, 398), 201, 400]}
    assert told(plan)["keep"] == ["full", "less"]


def test_more_than_fit_into_one() -> None:
    plan = dealt(range(2 * MOST + 5), [])
    assert [len(one.endpoints) for one in plan.create] == [MOST, MOST, 5]
    again = dealt(range(2 * MOST + 5), [slice_("a", range(10))])
    assert [len(one.endpoints) for one in again.create] == [MOST, MOST - 5]
    assert told(again)["keep"] == ["a"], "what is left does not fit into it"
    few = dealt(range(MOST + 15), [slice_("a", range(10))])
    assert [len(one.endpoints) for one in few.create] == [MOST]
    assert told(few)["update"] == {"a": [*range(10), *range(MOST + 10, MOST + 15)]}


def test_an_endpoint_that_is_another_now_is_written_where_it_is() -> None:
    existing = [slice_("a", [1, 2])]
    now = [endpoint(1, ready=False), endpoint(2)]
    plan = deal(wanted(now), existing, LABELS)
    assert told(plan)["update"] == {"a": [1, 2]}
    assert plan.update[0].endpoints == now
    seen = {**endpoint(1)["targetRef"], "resourceVersion": "7"}
    assert told(deal(wanted([endpoint(1, targetRef=seen), endpoint(2)]), existing, LABELS))[
        "keep"
    ] == ["a"], "a pod that has changed in nothing that matters"


def test_slices_of_a_service_of_before_go_and_are_not_taken_over() -> None:
    plan = dealt([1], [], foreign=[slice_("old", [1])])
    assert told(plan) == NOTHING | {"create": [[1]], "delete": ["old"]}


def test_ports_in_another_order_are_the_same() -> None:
    assert key_of_ports([*HTTP, *DNS]) == key_of_ports([*DNS, *HTTP])
    assert key_of_ports(None) == key_of_ports([])
    assert key_of_ports(HTTP) != key_of_ports([{**HTTP[0], "appProtocol": "h2c"}])


ZONED = {"zone": "z", "nodeName": "n"}
FOR_ZONE, FOR_NODE = {"forZones": [{"name": "z"}]}, {"forNodes": [{"name": "n"}]}


@pytest.mark.parametrize(
    ("distribution", "one", "hints"),
    [
        ("PreferClose", endpoint(1, **ZONED), FOR_ZONE),
        ("PreferSameZone", endpoint(1, **ZONED), FOR_ZONE),
        ("PreferSameNode", endpoint(1, **ZONED), FOR_ZONE | FOR_NODE),
        ("PreferSameNode", endpoint(1, nodeName="n"), FOR_NODE),
        ("PreferClose", endpoint(1), None),
        ("PreferClose", endpoint(1, ready=False, **ZONED), None),
        ("", endpoint(1, hints=FOR_ZONE, **ZONED), None),
    ],
)
def test_hints(distribution: str, one: Object, hints: Object | None) -> None:
    bare = {member: value for member, value in one.items() if member != "hints"}
    plan = deal(wanted([bare]), [], LABELS)
    hint(plan, distribution)
    assert plan.create[0].endpoints[0].get("hints") == hints


@pytest.mark.parametrize(
    ("distribution", "has", "written"),
    [
        ("", FOR_ZONE, True),
        ("PreferClose", FOR_ZONE, False),
        ("PreferClose", {"forZones": [{"name": "other"}]}, True),
        ("PreferClose", FOR_ZONE | FOR_NODE, True),
        ("PreferSameNode", FOR_ZONE | FOR_NODE, False),
    ],
)
def test_hints_that_are_others_now_are_written(
    distribution: str, has: Object, written: bool
) -> None:
    there = slice_("a", [])
    there["endpoints"] = [endpoint(1, hints=has, **ZONED)]
    plan = deal(wanted([endpoint(1, **ZONED)]), [there], LABELS)
    hint(plan, distribution)
    assert [u.before["metadata"]["name"] for u in plan.update if u.before] == ["a"] * written


def test_hints_of_what_is_not_ready_stay() -> None:
    there = slice_("a", [])
    there["endpoints"] = [endpoint(1, ready=False, hints=FOR_ZONE, **ZONED)]
    plan = deal(wanted([endpoint(1, ready=False, **ZONED)]), [there], LABELS)
    hint(plan, "PreferClose")
    assert not plan.update
    hint(plan, "")
    assert plan.update[0].endpoints[0].get("hints") is None
