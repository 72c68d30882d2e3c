"""Which part of the old object belongs to which part of the new one (k8s.io/apiserver
``pkg/cel/common/equality.go``, ``maplist.go``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiserver.meta.equality import deep_equal
from apiserver.schema.structural import ANYTHING
from apiserver.schema.types import Schema

_MISSING: Any = object()


class OldItems:
    """Items of the old list, to be found by the keys of a new item. Only lists of type map have
    them."""

    def __init__(self, schema: Schema, items: list[Any]) -> None:
        self.keys = schema.map_keys if schema.list_type == "map" else ()
        self.items = items
        self.by_key: dict[Any, Any] | None = None

    def _key(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return None
        values = [item.get(k, _MISSING) for k in self.keys]
        if any(v is _MISSING or v is None or isinstance(v, dict | list) for v in values):
            return None
        return tuple((type(v), v) for v in values)

    def get(self, item: Any) -> Any:
        """The old item with the same keys, None without one."""
        if not self.keys or not self.items:
            return None
        if self.by_key is None:
            self.by_key = {}
            for old in self.items:
                key = self._key(old)
                if key is not None:
                    self.by_key.setdefault(key, old)
        key = self._key(item)
        return self.by_key.get(key) if key is not None else None


@dataclass(slots=True, eq=False)
class Correlation:
    """A new value and the old one that it belongs to."""

    new: Any
    old: Any
    schema: Schema | None
    equal: bool | None = None
    old_items: OldItems | None = None

    def unchanged(self) -> bool:
        if self.equal is None:
            self.equal = is_unchanged(self.new, self.old, self.schema)
        return self.equal

    def key(self, name: str) -> Correlation | None:
        if (
            not isinstance(self.new, dict)
            or not isinstance(self.old, dict)
            or name not in self.new
            or name not in self.old
        ):
            return None
        below = member_schema(self.schema, name)
        return Correlation(self.new[name], self.old[name], below) if below is not None else None

    def index(self, i: int) -> Correlation | None:
        if self.schema is None or not isinstance(self.new, list) or not isinstance(self.old, list):
            return None
        if self.old_items is None:
            self.old_items = OldItems(self.schema, self.old)
        old = self.old_items.get(self.new[i])
        return Correlation(self.new[i], old, self.schema.items) if old is not None else None


def member_schema(schema: Schema | None, name: str) -> Schema | None:
    if schema is None:
        return None
    if schema.properties is not None and name in schema.properties:
        return schema.properties[name]
    return schema.additional if schema.additional is not ANYTHING else None


def is_unchanged(new: Any, old: Any, schema: Schema | None) -> bool:
    """Whether an update leaves a value as it is. Items of a list of type map are compared by their
    keys; an object with members that the schema does not know never counts as unchanged, as it does
    not upstream."""
    if new is None or old is None:
        return new is None and old is None
    if isinstance(new, dict) and isinstance(old, dict):
        if len(new) != len(old):
            return False
        below = ((name, member_schema(schema, name)) for name in new)
        return all(
            value is not None and name in old and is_unchanged(new[name], old[name], value)
            for name, value in below
        )
    if isinstance(new, list) and isinstance(old, list):
        if len(new) != len(old):
            return False
        if schema is None or schema.list_type != "map":
            return deep_equal(new, old)
        old_items = OldItems(schema, old)
        pairs = ((item, old_items.get(item)) for item in new)
        return all(was is not None and is_unchanged(item, was, schema.items) for item, was in pairs)
    return deep_equal(new, old)


@dataclass(slots=True, eq=False)
class Ratchet:
    """Whether an error is about something that the update leaves as it was: the value itself where
    it is correlated, else the nearest correlated value around it."""

    current: Correlation | None
    parent: Correlation | None = None

    def unchanged(self) -> bool:
        nearest = self.current or self.parent
        return nearest is not None and nearest.unchanged()

    def key(self, name: str) -> Ratchet:
        if self.current is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return Ratchet(None)
        return Ratchet(self.current.key(name), self.current)

    def index(self, i: int) -> Ratchet:
        if self.current is None:
            return self
        return Ratchet(self.current.index(i), self.current)
