"""Kubernetes' protobuf, for built-in kinds: an envelope with the kind, and a message in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.codec import body as bodies
from apiserver.codec import negotiate, protobuf, strict
from apiserver.endpoints.encodings.base import Encoding, ListBody, SizedItems
from apiserver.meta.gvk import GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.registry import weight
from apiserver.schema.types import Schema

ENCODED_TWICE = 1000
"""Items of a list. The sizes of all come before the first: from so many on they are encoded twice,
once to measure, because to encode is cheap and to keep 100,000 encoded objects is not."""


class ProtobufEncoding(Encoding):
    media_type = negotiate.PROTOBUF

    def weight(self, data: bytes, schema: Schema) -> int:
        return weight.of_binary(data, schema)

    def parse(
        self, data: bytes, kind: GroupVersionKind, *, merge: bool = False
    ) -> tuple[Any, list[str]]:
        try:
            return protobuf.decode(data, default=kind), []
        except protobuf.ProtobufError as e:
            raise bodies.BodyError(str(e)) from None

    def read(self, data: bytes, kind: GroupVersionKind, *, merge: bool) -> tuple[Any, list[str]]:
        try:
            return protobuf.decode(data, default=kind), []
        except protobuf.ProtobufError as e:
            if e.kind is not None:
                raise strict.cannot_handle(str(e), e.kind, kind.kind) from None
            raise bodies.unrecognized(e, kind.kind, data) from None

    def render(self, value: Any, *, pretty: bool = False) -> bytes:
        return protobuf.encode(value)

    def list_parts(self, body: ListBody, *, pretty: bool = False) -> Iterator[bytes]:
        """Raises KeyError where the kind of the items has no protobuf form."""

        def encode(item: Object) -> bytes:
            return protobuf.encode_message(item, body.item_kind)

        items = SizedItems(body, encode)
        kind, api_version, metadata = (body.head[k] for k in ("kind", "apiVersion", "metadata"))
        if body.count < ENCODED_TWICE:
            return protobuf.encode_list(kind, api_version, metadata, list(items))
        sizes = [len(item) for item in items]
        return protobuf.stream_list(kind, api_version, metadata, sizes, items)

    def event(self, event_type: str, obj: Any) -> bytes:
        return protobuf.frame(protobuf.encode_watch_event(event_type, obj))
