"""Selectable fields of custom resources, found when a selector asks for them.

Which fields can be selected by differs from tenant to tenant, and selectors are checked against the
definition before they run; so the watch caches keep no list of fields for custom objects, but look
up what is asked for, once per object and field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import orjson

from apiserver.kinds.apiextensions.jsonpath import Path, PathError, parse_path, print_value


@lru_cache(maxsize=4096)
def _path(name: str) -> Path | None:
    try:
        return parse_path(name if name.startswith("[") else f".{name}")
    except PathError:
        return None


class CustomFields(Mapping[str, str]):
    """``known``: metadata.name and metadata.namespace; ``data``: the object's JSON."""

    __slots__ = ("_data", "_values")

    def __init__(self, fields: dict[str, str], data: bytes) -> None:
        self._values, self._data = fields, data

    def __getitem__(self, name: str) -> str:
        value = self._values.get(name)
        if value is None:
            value = self._values[name] = self._look_up(name)
        return value

    def _look_up(self, name: str) -> str:
        path = _path(name)
        try:
            values = path(orjson.loads(self._data)) if path is not None else []
        except PathError:
            values = []
        return print_value(values[0]) if values and values[0] is not None else ""

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
