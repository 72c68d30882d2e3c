"""Frames of a watch stream: watch events, bookmarks and errors in the negotiated encoding.

Each event is encoded once for each encoding and shared by all its watchers (WatchEvent.memo); the
plain JSON frame is the stored bytes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from apiserver.codec.negotiate import Accepted
from apiserver.codec.partial import partial_object
from apiserver.codec.table import INITIAL_EVENTS_END, table
from apiserver.endpoints.encode import cells_of
from apiserver.endpoints.encodings import BY_MEDIA_TYPE
from apiserver.errors import ApiError
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.reading import plain
from apiserver.registry.scope import Scope
from apiserver.registry.versions import shown_in
from apiserver.schema.decode import decode
from apiserver.watch.entry import WatchEvent

MOST_SHARED = 4
"""Encodings of one event that are kept for other watchers as long as the event is: what clients may
ask for is many times that."""


class Unencodable(Exception):
    """An event that the stream cannot carry in what was asked for: the stream ends."""


class Frames:
    """Makes the frames of one stream. include: Table's includeObject. Events and bookmarks raise
    Unencodable where PartialObjectMetadataList was asked for, which no object is."""

    def __init__(self, registry: Registry, scope: Scope, kind: Accepted, include: str) -> None:
        self._registry, self._scope, self._kind, self._include = registry, scope, kind, include
        self._encoding = BY_MEDIA_TYPE[kind.media_type]
        self._raw = kind.convert is None and self._encoding.stored and plain(scope)
        self._memo_key = (
            scope.resource.group,
            scope.version,
            kind.media_type,
            kind.convert,
            include,
        )
        self._first = kind.convert is not None and kind.convert.kind == "Table"

    def event(self, event: WatchEvent) -> bytes:
        if self._raw:
            return event.frame
        if self._first:  # only the first Table of a stream names its columns
            return self._encode(event.type, self._object(event))
        frame = event.memo.get(self._memo_key)
        if frame is None:
            frame = self._encode(event.type, self._object(event))
            if len(event.memo) < MOST_SHARED:
                event.memo[self._memo_key] = frame
        return bytes(frame)

    def _object(self, event: WatchEvent) -> Object:
        return shown_in(self._registry, self._scope, event.entry)

    def bookmark(self, resource_version: int, *, initial: bool = False) -> bytes:
        """``initial``: the one that ends the initial events."""
        metadata: Object = {"resourceVersion": str(resource_version)}
        if initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        obj = {
            "kind": self._scope.resource.kind,
            "apiVersion": self._scope.gvk.api_version,
            "metadata": metadata,
        }
        if self._scope.resource.has_go_type:
            obj = decode(self._scope.served.schema, obj).value
        return self._encode("BOOKMARK", obj)

    def error(self, error: ApiError) -> bytes:
        return self._encoding.event("ERROR", error.to_status())

    def _encode(self, event_type: str, obj: Object) -> bytes:
        return self._encoding.event(event_type, self._transformed(obj))

    def _transformed(self, obj: Object) -> Any:
        target = self._kind.convert
        if target is None:
            return obj
        if target.kind == "PartialObjectMetadataList":
            raise Unencodable
        if target.kind != "Table":
            return partial_object(self._scope.resource.hooks.unconverted(obj), target.version)
        scope, headers = self._scope, self._first
        self._first = False
        return table(
            [obj],
            scope.served.columns,
            cells_of(scope, datetime.now(UTC)),
            metadata=obj["metadata"],
            conditions=scope.resource.hooks.row_conditions,
            bare=scope.resource.hooks.unconverted,
            include=self._include,
            version=target.version,
            headers=headers,
        )
