"""Stored: the outcome of an operation on one object, as bytes where they are at hand and as a
dictionary where that is needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from apiserver.kinds.served import Resource
from apiserver.meta.objects import Object
from apiserver.storage.interface import splice_resource_version


class Form(NamedTuple):
    """data: what is stored; answer: what readers of the request's version will see of that, as the
    answer to the write."""

    data: bytes
    answer: Object


class Stored:
    """``json`` are the object's bytes in the request's version, or None where only the dictionary
    is there."""

    __slots__ = ("_json", "_object", "created", "deleted")

    def __init__(self, obj: Object | None, json: bytes | None, *, created: bool = False) -> None:
        self._object, self._json, self.created, self.deleted = obj, json, created, True

    @classmethod
    def of_object(cls, obj: Object, *, created: bool = False) -> Stored:
        return cls(obj, None, created=created)

    @classmethod
    def of_json(cls, json: bytes) -> Stored:
        return cls(None, json)

    @classmethod
    def of_write(cls, resource: Resource, version: str, form: Form, written: int) -> Stored:
        """``form``: what was stored, as resourceVersion ``written``."""
        form.answer["metadata"]["resourceVersion"] = str(written)
        if resource.serves_as_stored(version):
            return cls(form.answer, splice_resource_version(form.data, written))
        return cls(form.answer, None)

    @property
    def json(self) -> bytes:
        if self._json is None:
            self._json = orjson.dumps(self._object)
        return self._json

    @property
    def object(self) -> Any:
        if self._object is None:
            self._object = orjson.loads(self._json or b"null")
        return self._object
