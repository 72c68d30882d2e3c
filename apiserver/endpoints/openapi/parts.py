"""What one resource of a definition adds to OpenAPI documents, encoded once and shared by all
tenants with an equal definition."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import orjson

from apiserver.endpoints.openapi import custom, definitions, render
from apiserver.endpoints.openapi.definitions import Node
from apiserver.endpoints.openapi.operations import Builder
from apiserver.kinds.served import Resource, ServedVersion

_MOST = 32 * 2**20
"""Bytes of parts that a process keeps."""


@dataclass(frozen=True, slots=True)
class Part:
    """paths, schemas: the encoded members of a document of that name; size: their bytes."""

    paths: Mapping[str, orjson.Fragment]
    schemas: Mapping[str, orjson.Fragment]
    size: int


def identity(resource: Resource) -> Hashable:
    """Equal for resources that look alike in every document."""
    return resource.digest or resource


def part_of(resource: Resource, served: ServedVersion, *, v2: bool) -> Part:
    return _kept.get(
        (identity(resource), served.version, v2), lambda: _make(resource, served, v2=v2)
    )


def encoded(nodes: Mapping[str, Any]) -> tuple[dict[str, orjson.Fragment], int]:
    """Each node's JSON, to be put into a document as it is, and the bytes of all."""
    texts = {name: orjson.dumps(node, option=orjson.OPT_SORT_KEYS) for name, node in nodes.items()}
    return {name: orjson.Fragment(text) for name, text in texts.items()}, sum(
        map(len, texts.values())
    )


def _make(resource: Resource, served: ServedVersion, *, v2: bool) -> Part:
    operations = Builder(resource, served).build()
    own = custom.definitions(resource, served, v2=v2)
    built_in: Callable[[str], Node | None] = definitions.v2 if v2 else definitions.v3
    needed = own if v2 else render.used(operations)
    schemas = definitions.closure(needed, lambda name: own[name] if name in own else built_in(name))
    paths, size = encoded(render.v2_paths(operations) if v2 else render.v3_paths(operations))
    texts, more = encoded(schemas)
    return Part(paths, texts, size + more)


class _Kept:
    """The parts that were asked for last. Documents are made in threads."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._parts: OrderedDict[Hashable, Part] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Part]) -> Part:
        with self._lock:
            part = self._parts.get(key)
            if part is not None:
                self._parts.move_to_end(key)
                return part
        part = make()
        with self._lock:
            if key not in self._parts:
                self._parts[key] = part
                self._size += part.size
            while self._size > self._most and len(self._parts) > 1:
                self._size -= self._parts.popitem(last=False)[1].size
        return part


_kept = _Kept(_MOST)
