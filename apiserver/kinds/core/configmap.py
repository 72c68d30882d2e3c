"""ConfigMap (k8s.io/kubernetes ``registry/core/configmap``, ValidateConfigMap)."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid, too_long
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks, table
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object

MAX_BYTES = 1024 * 1024


@register("", "ConfigMap")
class ConfigMap(Kind):
    generation = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        errors: FieldErrors = []
        for key in sorted(data):
            texts = names.config_map_key(key)
            if key in binary:
                texts.append("duplicate of key present in binaryData")
            for text in texts:
                errors.append(invalid(checks.root("data").key(key), key, text))
        for key in sorted(binary):
            errors += checks.rule(key, checks.root("binaryData").key(key), names.config_map_key)
        size = sum(map(text_size, data.values())) + sum(map(decoded_size, binary.values()))
        if size > MAX_BYTES:
            errors.append(too_long(checks.NOWHERE, MAX_BYTES))
        return errors

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """An empty ``data`` is no change, since that is its default."""
        empties = [empty for empty in context.empties if empty.path != ("data",)]
        return list(checks.immutable_when_set(obj, old, empties, "data", "binaryData"))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return [
            table.name(obj),
            len(obj.get("data") or ()) + len(obj.get("binaryData") or ()),
            table.created(obj, now),
        ]


def text_size(value: str) -> int:
    """Bytes in UTF-8."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


def decoded_size(value: str) -> int:
    """Bytes of a base64 text."""
    return len(base64.b64decode(value))
