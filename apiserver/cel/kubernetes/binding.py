"""Values of a schema as CEL values (k8s.io/apiserver ``pkg/cel/common/valuesunstructured.go``).

Most JSON values stand for themselves; only what the schema gives another type is converted:
numbers, dates, durations and bytes, and lists whose list type changes their equality. A subtree
without any of these is handed over as it is.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from apiserver.cel.errors import EvalError
from apiserver.cel.scalars import Duration, Timestamp
from apiserver.cel.timestamps import parse_timestamp
from apiserver.cel.values import Joined, Optional, SpecialList, equal
from apiserver.effort import hold, spend
from apiserver.schema.formats import spelled_duration
from apiserver.schema.types import Schema

_CACHE = "cel.binding"
_FORMATS = frozenset({"byte", "duration", "date", "date-time"})


class KeyedList(SpecialList):
    """x-kubernetes-list-type=map: equal whatever the order; ``+`` replaces elements with the same
    keys in place."""

    __slots__ = ("keys",)
    keys: tuple[str, ...]

    def _key(self, element: Any) -> Any:
        values = [element.get(k) if isinstance(element, dict) else None for k in self.keys]
        return tuple(map(_frozen, values))

    def equal_to(self, other: list[Any]) -> bool:
        if len(self) != len(other):
            return False
        mine = {self._key(e): e for e in self}
        for element in other:
            key = self._key(element)
            if key not in mine or not equal(mine[key], element):
                return False
        return True

    def plus(self, other: list[Any]) -> list[Any]:
        total = keyed_list(self, self.keys)
        positions = {self._key(e): i for i, e in enumerate(self)}
        for element in other:
            at = positions.get(self._key(element))
            if at is None:
                total.append(element)
            else:
                total[at] = element
        return total


def keyed_list(items: list[Any], keys: tuple[str, ...]) -> KeyedList:
    keyed = KeyedList(items)
    keyed.keys = keys
    return keyed


class SetList(SpecialList):
    """x-kubernetes-list-type=set: equal whatever the order; ``+`` adds what is missing."""

    __slots__ = ()

    def equal_to(self, other: list[Any]) -> bool:
        if len(self) != len(other):
            return False
        mine = {_frozen(e) for e in self}
        return all(_frozen(e) in mine for e in other)

    def plus(self, other: list[Any]) -> list[Any]:
        union = SetList(self)
        members = {_frozen(e) for e in self}
        for element in other:
            key = _frozen(element)
            if key not in members:
                members.add(key)
                union.append(element)
        return union


def _frozen(value: Any) -> Any:
    """What is equal for equal elements of a set, and for equal keys."""
    spend(4)
    kind = type(value)
    if isinstance(value, list | Joined):
        hold(8 * len(value))
        return (list, *map(_frozen, value))
    if isinstance(value, dict):
        hold(100 * len(value))
        return (dict, *((k, _frozen(v)) for k, v in value.items()))
    return (kind, _frozen(value.value)) if kind is Optional else (kind, value)


def is_plain(schema: Schema) -> bool:
    """Whether JSON values of the schema need no conversion."""
    remembered = schema.cache.get(_CACHE)
    if remembered is None:
        remembered = schema.cache[_CACHE] = _is_plain(schema)
    return bool(remembered)


def _is_plain(schema: Schema) -> bool:
    if schema.int_or_string:
        return True
    if schema.type == "number" or (schema.type == "string" and schema.format in _FORMATS):
        return False
    if schema.type == "array":
        return schema.list_type not in ("set", "map") and (
            schema.items is None or is_plain(schema.items)
        )
    if schema.type == "object":
        if schema.additional is not None:
            return is_plain(schema.additional)
        return all(is_plain(p) for p in (schema.properties or {}).values())
    return True


def bind(value: Any, schema: Schema) -> Any:
    """A JSON value as CEL value; the value itself where nothing below it needs conversion. Raises
    EvalError for unreadable formats."""
    if value is None or is_plain(schema):
        return value
    if schema.type == "object" and isinstance(value, dict):
        if schema.additional is not None:
            return {k: bind(v, schema.additional) for k, v in value.items()}
        properties = schema.properties or {}
        return {k: bind(v, properties[k]) if k in properties else v for k, v in value.items()}
    if schema.type == "array" and isinstance(value, list):
        items = value if schema.items is None else [bind(v, schema.items) for v in value]
        if schema.list_type == "map":
            return keyed_list(items, schema.map_keys)
        return SetList(items) if schema.list_type == "set" else items
    if schema.type == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if schema.type == "string" and isinstance(value, str):
        return _bind_string(value, schema.format)
    return value


def _bind_string(text: str, format_: str) -> Any:
    converter: Any = None
    if format_ == "duration":
        nanoseconds = spelled_duration(text)
        if nanoseconds is None:
            raise EvalError(f"Invalid duration {text}")
        converter = Duration(nanoseconds)
    elif format_ == "date":
        converter = _date(text)
        if converter is None:
            raise EvalError(f"Invalid date formatted string {text}")
    elif format_ == "date-time":
        converter = _datetime(text)
        if converter is None:
            raise EvalError(f"Invalid date-time formatted string {text}")
    else:
        try:
            converter = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise EvalError(f"Invalid byte formatted string {text}") from None
    return converter


def _date(text: str) -> Timestamp | None:
    return parse_timestamp(f"{text}T00:00:00Z") if len(text) == 10 else None


def _datetime(text: str) -> Timestamp | None:
    """strfmt's date-time: RFC 3339 in either case, the zone also without a colon or missing."""
    upper = text.upper().replace(" ", "T", 1)
    if re.search(r"[+-][0-9]{4}$", upper[10:]):
        upper = f"{upper[:-2]}:{upper[-2:]}"
    elif not re.search(r"(?:Z|[+-][0-9]{2}:[0-9]{2})$", upper[10:]):
        upper += "Z"
    return parse_timestamp(upper)
