"""Lists as parts of bytes, made item by item: no list is ever held as values, and a large one not even as bytes.

`ListBody` says what a list consists of, `parts` yields it in the negotiated encoding. Protobuf needs the size of all items before the
first: a large list is encoded twice, once to measure, because to encode is cheap and to keep 100,000 encoded objects is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.codec import cbor, lists, negotiate, protobuf, yaml
from apiserver.codec import json as json_codec
from apiserver.codec.negotiate import Accepted
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.types import Schema

Object = dict[str, Any]
ENCODED_TWICE = 1000
"""From so many items on, protobuf is encoded twice instead of being kept."""


@dataclass(slots=True)
class ListBody:
    """head: the list without its items, kind and apiVersion first; key: "items" or "rows"; make: yields the items anew at each call;
    count: how many; item_kind: for encodings that must know it; schema: of an item, where items do not name their kind."""

    head: Object
    key: str
    make: Callable[[], Iterator[Object]]
    count: int
    item_kind: GroupVersionKind
    schema: Schema | None = None


def parts(body: ListBody, kind: Accepted) -> Iterator[bytes]:
    """Raises KeyError where the kind has no protobuf form."""
    if kind.media_type == negotiate.JSON:
        return _pretty(body) if kind.pretty else _json(body)
    if kind.media_type == negotiate.YAML:
        return _yaml(body)
    if kind.media_type == negotiate.CBOR:
        return _cbor(body)
    return _protobuf(body)


def _json(body: ListBody) -> Iterator[bytes]:
    yield json_codec.encode(body.head)[:-1] + b',"' + body.key.encode() + b'":['
    first = True
    for item in body.make():
        yield json_codec.encode(item) if first else b"," + json_codec.encode(item)
        first = False
    yield b"]}\n"


def _pretty(body: ListBody) -> Iterator[bytes]:
    head = json_codec.dumps_pretty({**body.head, body.key: []})
    yield head.removesuffix(b"[]\n}") + (b"[" if body.count else b"[]\n}")
    separator = b"\n    "
    for item in body.make():
        # strings hold no raw newline, so that every newline is one of the layout
        yield separator + json_codec.dumps_pretty(item).replace(b"\n", b"\n    ")
        separator = b",\n    "
    if body.count:
        yield b"\n  ]\n}"


def _yaml(body: ListBody) -> Iterator[bytes]:
    """Members come sorted; each item is written inside a list of its own, so that long lines are folded at the same column."""
    before = {k: v for k, v in body.head.items() if k < body.key}
    after = {k: v for k, v in body.head.items() if k > body.key}
    yield yaml.dumps(before)
    if not body.count:
        yield f"{body.key}: []\n".encode()
    else:
        name = f"{body.key}:\n".encode()
        yield name
        for item in body.make():
            yield yaml.dumps({body.key: [item]}).removeprefix(name)
    if after:
        yield yaml.dumps(after)


class _Encoded:
    """Items encoded while they are asked for; knows its length beforehand."""

    def __init__(self, body: ListBody, encode: Callable[[Object], bytes]) -> None:
        self._body, self._encode = body, encode

    def __len__(self) -> int:
        return self._body.count

    def __iter__(self) -> Iterator[bytes]:
        return map(self._encode, self._body.make())


def _cbor(body: ListBody) -> Iterator[bytes]:
    items = _Encoded(body, lambda item: cbor.encode(item, body.schema))
    head = body.head
    return lists.cbor_list(head["kind"], head["apiVersion"], head["metadata"], items)


def _protobuf(body: ListBody) -> Iterator[bytes]:
    def encode(item: Object) -> bytes:
        return protobuf.encode_message(item, body.item_kind)

    head, items = body.head, _Encoded(body, encode)
    if body.count < ENCODED_TWICE:
        return protobuf.encode_list(head["kind"], head["apiVersion"], head["metadata"], list(items))
    sizes = [len(item) for item in items]
    return protobuf.stream_list(head["kind"], head["apiVersion"], head["metadata"], sizes, items)


def joined_stored(skip: int, head: Object, items: Any, at_once: int) -> Iterator[bytes]:
    """A JSON list of stored bytes, ``at_once`` items a part; the first ``skip`` bytes of each item (kind and apiVersion) are left out."""
    start = orjson.dumps(head)[:-1] + b',"items":['
    if not items:
        yield start + b"]}\n"
        return
    for at in range(0, len(items), at_once):
        body = b",{".join([item.json[skip:] for item in items[at : at + at_once]])
        yield (start if not at else b",") + b"{" + body
    yield b"]}\n"
