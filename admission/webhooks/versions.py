"""The objects of a request in the version that a webhook wants to see them in; each conversion is
made once (k8s.io/apiserver ``admission/conversion.go``)."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from admission.attributes import Attributes, Equivalent, Lookup
from apiserver.errors import InternalError, PlainError
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object


@dataclass(slots=True, eq=False)
class Pair:
    """The new object (None where it is deleted) and the one that it replaces (None where it is
    created)."""

    new: Object | None
    old: Object | None
    _texts: tuple[bytes, bytes] | None = None

    def texts(self) -> tuple[bytes, bytes]:
        """Both as JSON, made once for all webhooks that are asked about them."""
        if self._texts is None:
            self._texts = orjson.dumps(self.new), orjson.dumps(self.old)
        return self._texts


class Versions:
    """Of one request. Nobody may change what comes from here."""

    def __init__(self, attributes: Attributes, lookup: Lookup) -> None:
        self._attributes, self._lookup = attributes, lookup
        self._old: dict[GroupVersionKind, Object | None] = {}
        self._pairs: dict[GroupVersionKind, Pair] = {}
        self._source = attributes.object

    async def at(self, matched: Equivalent) -> Pair:
        """The objects as they are now. Raises InternalError."""
        attributes, kind = self._attributes, matched.kind
        if self._source is not attributes.object:
            self._source, self._pairs = attributes.object, {}
        pair = self._pairs.get(kind)
        if pair is None:
            if kind == attributes.kind:
                pair = Pair(attributes.object, attributes.old)
            else:
                new = await self._converted(attributes.object, matched)
                if kind not in self._old:
                    self._old[kind] = await self._converted(attributes.old, matched)
                pair = Pair(new, self._old[kind])
            self._pairs[kind] = pair
        return pair

    async def set(self, new: Object, matched: Equivalent) -> None:
        """The request's new object is the one that ``new`` is in the version of ``matched``."""
        attributes = self._attributes
        own = Equivalent(attributes.resource, attributes.kind)
        if matched.kind != own.kind:
            converted = await _convert(self._lookup, new, matched, own)
            attributes.object = self._source = self._lookup.decode(converted, own)[0]
            self._pairs = {matched.kind: Pair(new, self._old[matched.kind])}
        else:
            attributes.object = new

    async def _converted(self, obj: Object | None, matched: Equivalent) -> Object | None:
        if obj is None:
            return None
        own = Equivalent(self._attributes.resource, self._attributes.kind)
        return await _convert(self._lookup, obj, own, matched)


async def _convert(lookup: Lookup, obj: Object, at: Equivalent, to: Equivalent) -> Object:
    try:
        return await lookup.convert(obj, at.resource, to)
    except PlainError as error:
        raise InternalError(str(error)) from None
