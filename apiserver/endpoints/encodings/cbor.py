"""CBOR, whose decoder has words of its own for what it does not take (RFC 8949, KEP-4222)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.codec import body as bodies
from apiserver.codec import cbor, cbor_body, lists, negotiate, strict
from apiserver.endpoints.encodings.base import Encoding, ListBody, SizedItems
from apiserver.meta.gvk import GroupVersionKind
from apiserver.registry import weight
from apiserver.schema import builtin
from apiserver.schema.types import Schema


class CborEncoding(Encoding):
    media_type = negotiate.CBOR

    def weight(self, data: bytes, schema: Schema) -> int:
        return weight.of_binary(data, schema)

    def parse(
        self, data: bytes, kind: GroupVersionKind, *, merge: bool = False
    ) -> tuple[Any, list[str]]:
        try:
            return cbor.loads(data), []
        except cbor.CBORError as e:
            raise bodies.BodyError(str(e)) from None

    def read(self, data: bytes, kind: GroupVersionKind, *, merge: bool) -> tuple[Any, list[str]]:
        try:
            return cbor_body.read(data), []
        except cbor_body.Refused as e:
            raise strict.cannot_handle(str(e), kind) from None
        except bodies.BodyError as e:
            raise bodies.unrecognized(e, kind.kind, data) from None

    def read_options(self, data: bytes, kind: GroupVersionKind) -> Any:
        try:
            return cbor_body.read(data)
        except cbor_body.Refused as e:
            raise bodies.BodyError(str(e)) from None

    def type_error(self, text: str, value: Any, kind: GroupVersionKind) -> str:
        go_type = builtin.schema_for(kind).go_type if kind in builtin.kinds() else ""
        return cbor_body.type_text(text, value, go_type)

    def unknown_fields(self, errors: list[str], value: Any) -> list[str]:
        return cbor_body.unknown_texts(errors, value)

    def render(self, value: Any, *, pretty: bool = False) -> bytes:
        return cbor.dumps(value)

    def list_parts(self, body: ListBody, *, pretty: bool = False) -> Iterator[bytes]:
        items = SizedItems(body, lambda item: cbor.encode(item, body.schema))
        head = body.head
        return lists.cbor_list(head["kind"], head["apiVersion"], head["metadata"], items)

    def event(self, event_type: str, obj: Any) -> bytes:
        return lists.cbor_event(event_type, cbor.encode(obj))
