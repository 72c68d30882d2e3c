"""YAML, which kube-apiserver reads and writes by way of JSON. It carries no watches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.codec import body as bodies
from apiserver.codec import negotiate, yaml
from apiserver.endpoints.encodings.base import Encoding, ListBody
from apiserver.meta.gvk import GroupVersionKind
from apiserver.registry import weight
from apiserver.schema.types import Schema


class YamlEncoding(Encoding):
    media_type = negotiate.YAML

    def weight(self, data: bytes, schema: Schema) -> int:
        return weight.of_yaml(data, schema)

    def parse(
        self, data: bytes, kind: GroupVersionKind, *, merge: bool = False
    ) -> tuple[Any, list[str]]:
        return bodies.decode_text(data, is_yaml=True, merge=merge)

    def read(self, data: bytes, kind: GroupVersionKind, *, merge: bool) -> tuple[Any, list[str]]:
        value, errors = super().read(data, kind, merge=merge)
        return _key_sorted(value), errors

    def render(self, value: Any, *, pretty: bool = False) -> bytes:
        return yaml.dumps(value)

    def list_parts(self, body: ListBody, *, pretty: bool = False) -> Iterator[bytes]:
        """Members come sorted; each item is written inside a list of its own, so that long lines
        are folded at the same column."""
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


def _key_sorted(value: Any) -> Any:
    """On the way to JSON members are sorted: errors about unknown ones come in that order."""
    if isinstance(value, dict):
        return {k: _key_sorted(value[k]) for k in sorted(value)}
    if isinstance(value, list):
        return [_key_sorted(v) for v in value]
    return value
