"""Tables of custom resources (k8s.io/apiextensions-apiserver
``registry/customresource/tableconvertor``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from apiserver.golang.math import int64_of
from apiserver.kinds.apiextensions.jsonpath import PathError, Walk, parse_path, print_value
from apiserver.kinds.base import Column
from apiserver.meta.objects import Object
from apiserver.meta.times import age
from apiserver.schema.builtin import definition
from apiserver.schema.definitions import META

Cell = Callable[[Object, datetime, Walk], Any]
MOST_OF_A_ROW = 10_000
"""Values that the columns of one object look at, a millisecond's work; what is left of its row then
has no value."""
_CHARACTERS = 100
"""That are as much work as a value."""


def columns_of(declared: Sequence[Object]) -> tuple[tuple[Column, ...], tuple[Cell, ...]]:
    """Columns and how their cells are made. ``declared``: additionalPrinterColumns; none gives Age;
    one that cannot be read ends them."""
    described = definition(META + "ObjectMeta").properties or {}
    columns = [Column("Name", "string", "name", described["name"].description)]
    cells: list[Cell] = [lambda obj, now, walk: obj["metadata"].get("name", "")]
    created = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    for column in declared or [
        {**created, "description": described["creationTimestamp"].description}
    ]:
        path = column.get("jsonPath", "")
        try:
            cells.append(_cell(path, column.get("type", "")))
        except PathError:
            break
        text = (
            column.get("description")
            or f"Custom resource definition column (in JSONPath format): {path}"
        )
        columns.append(
            Column(
                column.get("name", ""),
                column.get("type", ""),
                column.get("format", ""),
                text,
                column.get("priority", 0),
            )
        )
    return tuple(columns), tuple(cells)


def row(cells: Sequence[Cell], obj: Object, now: datetime) -> list[Any]:
    walk = Walk(MOST_OF_A_ROW)
    return [cell(obj, now, walk) for cell in cells]


def _cell(path: str, kind: str) -> Cell:
    find = parse_path(path)

    def cell(obj: Object, now: datetime, walk: Walk) -> Any:
        try:
            values = find(obj, walk)
            if kind == "string" and values:
                text = print_value(values[0])
                walk.take(len(text) // _CHARACTERS)
                return text
        except PathError:
            return None
        return _typed(kind, values[0], now) if values else None

    return cell


def _typed(kind: str, value: Any, now: datetime) -> Any:
    """The value where it fits the column's type, else null."""
    numeric = type(value) in (int, float)
    if kind == "integer" and numeric:
        return int64_of(value)
    if kind == "number" and numeric:
        return float(value)
    if kind == "boolean" and type(value) is bool:
        return value
    if kind == "date" and type(value) is str:
        try:
            return age(value, now)
        except ValueError:
            return "<invalid>"
    return None
