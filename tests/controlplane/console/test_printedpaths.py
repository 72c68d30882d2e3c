"""Columns of built-in kinds by which the console lets the server sort: each prints the member that
it is sorted by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import controlplane.console
from apiserver.kinds.catalog import resources
from apiserver.meta.gvk import GroupResource
from tests.support.kindtools import NOW

LIB = Path(controlplane.console.__file__).parent / "static/console/lib"
TEXT = (LIB / "printedpaths.js").read_text()
PATHS: dict[str, dict[str, str]] = json.loads(TEXT.partition("PRINTED_PATHS = ")[2].rstrip(";\n"))
EACH = [(name, column, path) for name, columns in PATHS.items() for column, path in columns.items()]
TIMES = ("2026-01-02T02:00:00Z", "2026-01-02T03:00:00Z")
NUMBERS = {
    "Revision",
    "Desired",
    "Current",
    "Ready",
    "MatchingPrecedence",
    "MinPods",
    "MaxPods",
    "Allowed Disruptions",
    "Value",
}


def value_of(column: str, path: str) -> tuple[Any, Any]:
    if path.startswith("-"):
        return TIMES
    if column == "Suspend":
        return False, True
    return (3, 11) if column in NUMBERS else ("a", "b")


def cell(name: str, column: str, path: str, value: Any) -> Any:
    """What the column shows of an object whose member has the value, and little else."""
    resource, _, group = name.partition(".")
    found = resources()[GroupResource(group, resource)]
    version = next(iter(found.versions))
    members = path.lstrip("-").strip(".").split(".")
    obj: dict[str, Any] = {
        "metadata": {"name": "x", "creationTimestamp": "2026-01-02T01:00:00Z"},
        "spec": {"template": {"spec": {"containers": []}}, "jobTemplate": {"spec": {}}},
        "status": {},
    }
    inner = obj
    for member in members[:-1]:
        inner = inner.setdefault(member, {})
    inner[members[-1]] = value
    if members[-1] in ("podIP", "clusterIP"):  # the server keeps both
        inner[f"{members[-1]}s"] = [{"ip": value} if members[-1] == "podIP" else value]
    cells = found.hooks.cells(obj, version, NOW)
    names = [c.name for c in found.versions[version].columns]
    return cells[names.index(column)]


@pytest.mark.parametrize(("name", "column", "path"), EACH, ids=map(" ".join, EACH))
def test_a_column_prints_the_member_that_it_is_sorted_by(name: str, column: str, path: str) -> None:
    shown = [cell(name, column, path, value) for value in value_of(column, path)]
    expected: tuple[Any, ...] = value_of(column, path)
    if path.startswith("-"):
        expected = ("64m", "4m5s")
    assert [str(one) for one in shown] == [str(one) for one in expected]
