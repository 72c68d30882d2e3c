"""The versions of one kind, as far as field management asks for them."""

from __future__ import annotations

from collections.abc import Callable

from apiserver.fieldmanager.types import Type, object_type
from apiserver.fieldmanager.updater import MissingVersion
from apiserver.meta.objects import Object
from apiserver.schema.decode import zero
from apiserver.schema.types import Schema


class Versions:
    """kind: the Kind that applied objects must have. schemas: apiVersion → schema of the whole
    object, None for a version that is not there. convert: an object to an apiVersion of its kind (a
    new object or the same); raises MissingVersion for a version that is gone for good (its managers
    are dropped), ValueError when conversion fails."""

    def __init__(
        self,
        kind: str,
        schemas: Callable[[str], Schema | None],
        convert: Callable[[Object, str], Object],
    ) -> None:
        self.kind = kind
        self._find = schemas
        self._convert = convert
        self._builtin: dict[str, Schema] = {}
        self._types: dict[str, Type] = {}
        self._empties: dict[str, Object] = {}

    def _schemas(self, version: str) -> Schema | None:
        """Built-in schemas, which stay, are looked up once."""
        schema = self._builtin.get(version)
        if schema is None:
            schema = self._find(version)
            if schema is not None and schema.builtin:
                self._builtin[version] = schema
        return schema

    def type(self, version: str) -> Type | None:
        known_type = self._types.get(version)
        if known_type is not None:
            return known_type
        schema = self._schemas(version)
        if schema is None:
            return None
        own_type = object_type(schema)
        if schema.builtin:
            self._types[version] = own_type
        return own_type

    def decoded(self, version: str) -> bool:
        """Whether objects of the version fit their type anyway, because they were decoded by a
        built-in schema."""
        schema = self._schemas(version)
        return schema is not None and schema.builtin

    def convert(self, obj: Object, version: str) -> Object:
        return obj if obj.get("apiVersion") == version else self._convert(obj, version)

    def empty(self, version: str) -> Object:
        """What a create is compared with. A built-in object is a Go value, which always has its
        structs and what is never omitted, so a create owns what it puts into those, not themselves;
        a custom object starts with nothing. Not to be changed. Raises MissingVersion."""
        empty = self._empties.get(version)
        if empty is not None:
            return empty
        schema = self._schemas(version)
        if schema is None:
            raise MissingVersion(version)
        identity = {"kind": self.kind, "apiVersion": version}
        if not schema.builtin:
            return identity
        empty = self._empties[version] = {**zero(schema), **identity}
        return empty
