"""JSON: the encoding that storage keeps, so the usual GET, LIST and watch never render it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from apiserver.codec import body as bodies
from apiserver.codec import json, lists, negotiate
from apiserver.endpoints.encodings.base import Encoding, ListBody
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.meta.raw import Way, attach
from apiserver.registry import weight
from apiserver.schema.types import Schema


class JsonEncoding(Encoding):
    media_type = negotiate.JSON
    stored = True

    def weight(self, data: bytes, schema: Schema) -> int:
        return weight.of_json(data, schema)

    def parse(
        self, data: bytes, kind: GroupVersionKind, *, merge: bool = False
    ) -> tuple[Any, list[str]]:
        return bodies.decode_text(data, is_yaml=False, merge=merge)

    def keep_raw(self, value: Any, data: bytes, way: Way) -> Any:
        attach(value, data.decode(errors="replace"), way)
        return value

    def render(self, value: Any, *, pretty: bool = False) -> bytes:
        return json.dumps_pretty(value) if pretty else json.dumps(value)

    def list_parts(self, body: ListBody, *, pretty: bool = False) -> Iterator[bytes]:
        return _indented(body) if pretty else _compact(body)

    def event(self, event_type: str, obj: Any) -> bytes:
        return lists.json_event(event_type, json.encode(obj))


def _compact(body: ListBody) -> Iterator[bytes]:
    yield json.encode(body.head)[:-1] + b',"' + body.key.encode() + b'":['
    first = True
    for item in body.make():
        yield json.encode(item) if first else b"," + json.encode(item)
        first = False
    yield b"]}\n"


def _indented(body: ListBody) -> Iterator[bytes]:
    head = json.dumps_pretty({**body.head, body.key: []})
    yield head.removesuffix(b"[]\n}") + (b"[" if body.count else b"[]\n}")
    separator = b"\n    "
    for item in body.make():
        # strings hold no raw newline, so that every newline is one of the layout
        yield separator + json.dumps_pretty(item).replace(b"\n", b"\n    ")
        separator = b",\n    "
    if body.count:
        yield b"\n  ]\n}"


def joined_stored(skip: int, head: Object, items: Any, at_once: int) -> Iterator[bytes]:
    """A list of stored bytes, ``at_once`` items a part; the first ``skip`` bytes of each item (kind
    and apiVersion) are left out."""
    start = orjson.dumps(head)[:-1] + b',"items":['
    if not items:
        yield start + b"]}\n"
        return
    for at in range(0, len(items), at_once):
        body = b",{".join([item.json[skip:] for item in items[at : at + at_once]])
        yield (start if not at else b",") + b"{" + body
    yield b"]}\n"
