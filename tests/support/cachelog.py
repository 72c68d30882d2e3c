"""A cache that is written to without a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.meta.gvk import GroupResource
from apiserver.storage.interface import Event, ObjectKey, Record
from apiserver.watch.cache import Cache

WIDGETS = GroupResource("toys.example", "widgets")


@dataclass(slots=True)
class CacheLog:
    """A cache's clock, and the versions that its log would have."""

    position: int = 0

    def cache(self) -> Cache:
        def index(resource: GroupResource, data: bytes) -> tuple[dict[str, str], dict[str, str]]:
            return orjson.loads(data)["metadata"].get("labels", {}), {}

        cache = Cache(WIDGETS, index, self)
        cache.loaded(0)
        return cache

    def write(
        self,
        cache: Cache,
        place: tuple[str, str],
        deleted: bool,
        spec: Any = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """place: (namespace, name). What is not there is not deleted."""
        key = ObjectKey(*WIDGETS, *place)
        old = cache.get(key)
        if deleted and old is None:
            return
        self.position += 1
        metadata: dict[str, Any] = {"namespace": place[0], "name": place[1]}
        if labels is not None:
            metadata["labels"] = labels
        data = orjson.dumps(
            {"kind": "Widget", "apiVersion": "v1", "metadata": metadata, "spec": spec}
        )
        type_ = "DELETED" if deleted else "ADDED" if old is None else "MODIFIED"
        record = Record(key, "u", self.position, data)
        cache.apply(Event(type_, record, self.position - 1, 0))
