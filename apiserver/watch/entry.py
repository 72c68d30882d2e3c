"""An object as the cache holds it, and what one change of it looks like to watchers: encoded once,
shared by all."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from apiserver.meta.gvk import GroupResource
from apiserver.storage.interface import EventType, ObjectKey, Record, stored_creation

Labels = Mapping[str, str]
Fields = Mapping[str, str]
Index = Callable[[GroupResource, bytes], tuple[Labels, Fields]]
Predicate = Callable[[Labels, Fields], bool]


class Entry:
    """One object at one version. json: its text with resourceVersion; fields: what field selectors
    can see; created: its creationTimestamp. Never changed. memo: what others have made of it and
    want to find again, as long as it is kept here."""

    __slots__ = (
        "_shared",
        "created",
        "fields",
        "json",
        "labels",
        "memo",
        "name",
        "namespace",
        "resource",
        "resource_version",
        "uid",
    )

    def __init__(
        self,
        resource: GroupResource,
        namespace: str,
        name: str,
        uid: str,
        resource_version: int,
        json: bytes,
        labels: Labels,
        fields: Fields,
    ) -> None:
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self.resource_version = resource_version
        self.json = json
        self.created = stored_creation(json)
        self.labels = labels
        self.fields = fields
        self._shared: dict[str, Any] | None = None
        self.memo: dict[Any, Any] | None = None

    @classmethod
    def of(cls, resource: GroupResource, record: Record, index: Index) -> Entry:
        labels, fields = index(resource, record.data)
        key = record.key
        return cls(
            resource,
            sys.intern(key.namespace),
            key.name,
            record.uid,
            record.resource_version,
            record.json,
            labels,
            fields,
        )

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(*self.resource, self.namespace, self.name)

    @property
    def shared(self) -> dict[str, Any]:
        """The object, decoded once and kept, for those who look at it again and again (RBAC,
        admission): nobody may change it."""
        if self._shared is None:
            self._shared = orjson.loads(self.json)
        return self._shared

    @property
    def is_decoded(self) -> bool:
        """Whether ``shared`` costs nothing."""
        return self._shared is not None

    def object(self) -> dict[str, Any]:
        """The object, decoded anew: the caller may change it."""
        decoded: dict[str, Any] = orjson.loads(self.json)
        return decoded

    def at(self, resource_version: int) -> Entry:
        """The same state under another version: what a watcher gets of an object that left its
        selection."""
        mine, theirs = (
            b'"resourceVersion":"%d"' % v for v in (self.resource_version, resource_version)
        )
        json = self.json.replace(
            mine, theirs, 1
        )  # the first occurrence: see splice_resource_version
        return type(self)(
            self.resource,
            self.namespace,
            self.name,
            self.uid,
            resource_version,
            json,
            self.labels,
            self.fields,
        )


class WatchEvent:
    """What a watcher is sent. old: the state before, where it is known; memo: encodings by a key of
    the encoder's choice, made by the first watcher that needs one; turnover: the tenant's when the
    change came."""

    __slots__ = ("_frame", "entry", "memo", "old", "turnover", "type")

    def __init__(
        self, type: EventType, entry: Entry, old: Entry | None = None, turnover: int = 0
    ) -> None:
        self.type = type
        self.entry = entry
        self.old = old
        self.turnover = turnover
        self.memo: dict[Any, Any] = {}
        self._frame: bytes | None = None

    @property
    def resource_version(self) -> int:
        return self.entry.resource_version

    @property
    def frame(self) -> bytes:
        """One line of a JSON watch stream."""
        if self._frame is None:
            self._frame = b'{"type":"%b","object":%b}\n' % (self.type.encode(), self.entry.json)
        return self._frame


class Change:
    """One event of the log as the cache saw it. old: None when the object was not there; new: its
    state, for a deletion the last one; turnover: the tenant's, this change included."""

    __slots__ = ("_seen", "at", "deleted", "new", "old", "resource_version", "turnover")

    def __init__(self, old: Entry | None, new: Entry, deleted: bool) -> None:
        self.old = old
        self.new = new
        self.deleted = deleted
        self.resource_version = new.resource_version
        self.at = time.monotonic()
        self.turnover = 0
        self._seen: dict[tuple[bool, bool], WatchEvent] = {}

    def seen(self, predicate: Predicate | None) -> WatchEvent | None:
        """The event for watchers with that selector (k8s.io/apiserver ``storage/cacher``
        convertToWatchEvent): an object that enters the selection is ADDED, one that leaves it is
        DELETED in its old state at the new version."""
        old, new = self.old, self.new
        if predicate is None:
            was, is_ = old is not None, not self.deleted
        else:
            was = old is not None and predicate(old.labels, old.fields)
            is_ = not self.deleted and predicate(new.labels, new.fields)
        if not (was or is_):
            return None
        event = self._seen.get((was, is_))
        if event is None:
            event = self._seen[was, is_] = self._event(was, is_)
        return event

    def _event(self, was: bool, is_: bool) -> WatchEvent:
        if is_:
            return WatchEvent("MODIFIED" if was else "ADDED", self.new, self.old, self.turnover)
        if self.deleted or self.old is None:
            return WatchEvent("DELETED", self.new, self.old, self.turnover)
        return WatchEvent("DELETED", self.old.at(self.resource_version), turnover=self.turnover)
