"""How much a path may look at: few characters can ask for very much."""

from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.golang.json import marshal
from apiserver.kinds.apiextensions.columns import MOST_OF_A_ROW, columns_of, row
from apiserver.kinds.apiextensions.jsonpath import PathError, Walk, parse_path
from apiserver.kinds.apiextensions.jsonpath_steps import MOST_LOOKED_AT

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def lists(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def members(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"n": value}
    return value


HOSTILE = [
    (".spec" + "[0,0]" * 60, lists(60)),  # 2^60 values
    (".spec" + "..n" * 100, members(90)),
    (".spec" + "..[*]" * 40, lists(90)),
    (".spec" + "[0:1,0]" * 60, lists(60)),
    (".spec[?(@" + "..n" * 100 + " == 1)]", [members(90)]),
    (".spec[" + ",".join("0" * 1000) + "]" + "[*]" * 3, [[[[1] * 1000]]]),
    (".spec.*.*", ["x" * 1000] * 1000),
]


@pytest.mark.parametrize(("text", "spec"), HOSTILE)
def test_a_path_that_looks_at_too_much_leads_nowhere(text: str, spec: Any) -> None:
    with pytest.raises(PathError, match=f"leads to more than {MOST_LOOKED_AT} values"):
        parse_path(text)({"spec": spec})


def test_what_paths_share_is_used_up_together() -> None:
    path, walk = parse_path(".spec[*]"), Walk(1000)
    obj = {"spec": [0] * 600}
    assert len(path(obj, walk)) == 600
    with pytest.raises(PathError, match="leads to more than 1000 values"):
        path(obj, walk)
    assert len(path(obj)) == 600, "each has enough for itself"


def test_every_part_of_a_large_object_is_found() -> None:
    obj = {"spec": {"items": [{"name": f"n{i}", "tags": ["a", "b"]} for i in range(5000)]}}
    assert len(parse_path("..name")(obj)) == 5000
    assert parse_path('.spec.items[?(@.name == "n4999")].tags[0]')(obj) == ["a"]


@pytest.mark.parametrize(("text", "spec"), HOSTILE)
def test_a_row_of_such_columns_has_no_value_there(text: str, spec: Any) -> None:
    declared = [{"name": "z", "type": "string", "jsonPath": text}] * 1000
    named = {"name": "n", "type": "string", "jsonPath": ".metadata.labels.app"}
    _, cells = columns_of([named, *declared])
    obj = {"metadata": {"name": "o", "labels": {"app": "web"}}, "spec": spec}
    assert row(cells, obj, NOW) == ["o", "web", *[None] * 1000]


def test_a_row_holds_no_more_text_than_it_has_room_for() -> None:
    _, cells = columns_of([{"name": "s", "type": "string", "jsonPath": ".spec"}] * 1000)
    values = row(cells, {"metadata": {"name": "o"}, "spec": {"a": "x" * 50_000}}, NOW)
    assert values[1] == '{"a":"' + "x" * 50_000 + '"}'
    assert sum(len(value or "") for value in values) <= 100 * MOST_OF_A_ROW


@pytest.mark.parametrize(
    ("number", "integer", "written"),
    [
        (5, 5, b"5"),
        (-1.5, -1, b"-1.5"),
        (1e20, -(2**63), b"100000000000000000000"),
        (2**63, -(2**63), b"9223372036854776000"),
        (-1e300, -(2**63), b"-1e+300"),
    ],
)
def test_numbers_of_columns_fit_gos_types(number: float, integer: int, written: bytes) -> None:
    declared = [{"name": t, "type": t, "jsonPath": ".spec"} for t in ("integer", "number")]
    _, cells = columns_of(declared)
    found = row(cells, {"metadata": {"name": "o"}, "spec": number}, NOW)
    assert found[1] == integer
    assert marshal(found) == b'["o",%d,%b]' % (integer, written)
