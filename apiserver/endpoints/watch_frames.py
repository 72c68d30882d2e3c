"""Frames of a watch stream: watch events, bookmarks and errors in the negotiated encoding.

Each event is encoded once for each encoding and shared by all its watchers (WatchEvent.memo); the plain JSON frame is the stored bytes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from apiserver.codec import cbor, lists, negotiate, protobuf
from apiserver.codec import json as json_codec
from apiserver.codec.negotiate import Accepted
from apiserver.codec.partial import partial_object
from apiserver.codec.table import INITIAL_EVENTS_END, table
from apiserver.endpoints.encode import cells_of
from apiserver.errors import ApiError
from apiserver.kinds.base import Object
from apiserver.registry.core import Registry
from apiserver.registry.reading import plain
from apiserver.registry.scope import Scope
from apiserver.registry.versions import shown_in
from apiserver.schema.decode import decode
from apiserver.watch.entry import WatchEvent


class Frames:
    """Makes the frames of one stream. include: Table's includeObject."""

    def __init__(self, registry: Registry, scope: Scope, kind: Accepted, include: str) -> None:
        self._registry, self._scope, self._kind, self._include = registry, scope, kind, include
        self._raw = kind.convert is None and kind.media_type == negotiate.JSON and plain(scope)
        self._memo_key = (scope.resource.group, scope.version, kind.media_type, kind.convert, include)
        self._first = kind.convert is not None and kind.convert.kind == "Table"

    def event(self, event: WatchEvent) -> bytes:
        if self._raw:
            return event.frame
        if self._first:  # only the first Table of a stream names its columns
            return self._encode(event.type, self._object(event))
        made = event.memo.get(self._memo_key)
        if made is None:
            made = event.memo[self._memo_key] = self._encode(event.type, self._object(event))
        return bytes(made)

    def _object(self, event: WatchEvent) -> Object:
        return shown_in(self._registry, self._scope, event.entry)

    def bookmark(self, resource_version: int, *, initial: bool = False) -> bytes:
        """``initial``: the one that ends the initial events."""
        metadata: Object = {"resourceVersion": str(resource_version)}
        if initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        obj = {"kind": self._scope.resource.kind, "apiVersion": self._scope.gvk.api_version, "metadata": metadata}
        if not self._scope.resource.custom:
            obj = decode(self._scope.served.schema, obj).value
        return self._encode("BOOKMARK", obj)

    def error(self, error: ApiError) -> bytes:
        return self._frame("ERROR", error.to_status())

    def _encode(self, event_type: str, obj: Object) -> bytes:
        return self._frame(event_type, self._transformed(obj))

    def _transformed(self, obj: Object) -> Any:
        target = self._kind.convert
        if target is None:
            return obj
        if target.kind != "Table":
            return partial_object(obj, target.version)
        scope, headers = self._scope, self._first
        self._first = False
        return table(
            [obj],
            scope.served.columns,
            cells_of(scope, datetime.now(UTC)),
            metadata=obj["metadata"],
            conditions=scope.resource.hooks.row_conditions,
            include=self._include,
            version=target.version,
            headers=headers,
        )

    def _frame(self, event_type: str, obj: Any) -> bytes:
        media_type = self._kind.media_type
        if media_type == negotiate.JSON:
            return lists.json_event(event_type, json_codec.encode(obj))
        if media_type == negotiate.CBOR:
            return lists.cbor_event(event_type, cbor.encode(obj))
        return protobuf.frame(protobuf.encode_watch_event(event_type, obj))
