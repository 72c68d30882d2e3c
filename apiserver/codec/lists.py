"""Lists and watch events joined from objects that are encoded already, so that no list is held as
values and each object is encoded once.

Every function yields parts; their order is the order on the wire. ``items`` are encodings without
frame: JSON without newline, CBOR without prefix, protobuf messages without envelope.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from apiserver.codec import cbor

_SHORT = 24


class SizedItems(Protocol):
    """Items whose number is known before the first is encoded."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[bytes]: ...


def cbor_list(
    kind: str, api_version: str, metadata: dict[str, Any], items: SizedItems
) -> Iterator[bytes]:
    """A list as CBOR. Keys come in deterministic order: kind, items, metadata, apiVersion."""
    yield (
        cbor.PREFIX + b"\xa4" + _pair("kind", kind) + cbor.encode("items") + _head(0x80, len(items))
    )
    yield from items
    yield _pair("metadata", metadata) + _pair("apiVersion", api_version)


def _pair(key: str, value: Any) -> bytes:
    return cbor.encode(key) + cbor.encode(value)


def _head(major: int, size: int) -> bytes:
    if size < _SHORT:
        return bytes([major | size])
    for code, width in ((24, 1), (25, 2), (26, 4)):
        if size < 1 << (8 * width):
            return bytes([major | code]) + size.to_bytes(width, "big")
    return bytes([major | 27]) + size.to_bytes(8, "big")


def json_event(kind: str, obj: bytes) -> bytes:
    """One event of a JSON watch. ``kind``: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), obj.rstrip(b"\n"))


def cbor_event(kind: str, obj: bytes) -> bytes:
    """One event of an ``application/cbor-seq`` watch."""
    return cbor.PREFIX + b"\xa2" + _pair("type", kind) + cbor.encode("object") + obj
