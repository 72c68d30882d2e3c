"""Table (meta.k8s.io/v1 and v1beta1): what kubectl prints.

Knows nothing of kinds: the caller gives columns and a function from an object to its cells.
Source: k8s.io/apiserver ``endpoints/handlers/response.go`` and ``registry/rest/table.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from apiserver.codec.partial import list_metadata, partial_object
from apiserver.errors import BadRequest
from apiserver.fielderrors import invalid
from apiserver.meta.objects import Object

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class ColumnLike(Protocol):
    """Shape of a column; apiserver.kinds.base.Column is one."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def priority(self) -> int: ...


def check_include_object(value: str) -> str:
    """The query parameter includeObject: "", "None", "Metadata" or "Object". Raises BadRequest."""
    if value not in ("", "None", "Metadata", "Object"):
        wrong = invalid("includeObject", value, "must be 'Metadata', 'Object', 'None', or empty")
        raise BadRequest(f"Unable to convert to Table as requested: {wrong}")
    return value


def column_definitions(columns: Sequence[ColumnLike]) -> list[Object]:
    return [
        {
            "name": c.name,
            "type": c.type,
            "format": c.format,
            "description": c.description,
            "priority": c.priority,
        }
        for c in columns
    ]


def no_conditions(obj: Object) -> Sequence[Object]:
    return ()


def itself(obj: Object) -> Object:
    return obj


def table_row(
    obj: Object,
    cells: Sequence[Any],
    include: str,
    version: str = "v1",
    conditions: Sequence[Object] = (),
    bare: Callable[[Object], Object] = itself,
) -> Object:
    """``include``: from `check_include_object`. The bookmark that ends initial events keeps its
    metadata whatever was asked for. ``bare``: the object that metadata alone is shown of."""
    included: Object | None
    if include == "Object":
        included = obj
    elif include == "None" and INITIAL_EVENTS_END not in (
        obj.get("metadata", {}).get("annotations") or {}
    ):
        included = None
    else:
        included = partial_object(bare(obj), version)
    if conditions:
        return {"cells": list(cells), "conditions": list(conditions), "object": included}
    return {"cells": list(cells), "object": included}


def table(
    objects: Iterable[Object],
    columns: Sequence[ColumnLike],
    cells: Callable[[Object], Sequence[Any]],
    *,
    metadata: Object,
    conditions: Callable[[Object], Sequence[Object]] = no_conditions,
    bare: Callable[[Object], Object] = itself,
    include: str = "",
    version: str = "v1",
    headers: bool = True,
) -> Object:
    """A Table of one object or of a list. ``metadata``: the list's, or the object's (its
    resourceVersion is kept); ``headers``: False leaves the columns out, as every event of a watch
    after the first does."""
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": list_metadata(metadata),
        "columnDefinitions": column_definitions(columns) if headers else None,
        "rows": [
            table_row(obj, cells(obj), include, version, conditions(obj), bare) for obj in objects
        ],
    }
