"""Secret: stringData, the types that ask for certain keys, size (k8s.io/kubernetes
``registry/core/secret``, ValidateSecret)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid, required, too_long
from apiserver.golang.json import syntax_error
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import certificates, checks, table
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object

MAX_BYTES = 1024 * 1024
TLS = "kubernetes.io/tls"
_SERVICE_ACCOUNT = "kubernetes.io/service-account.name"
_DATA = checks.root("data")
_DOCKER_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


@register("", "Secret")
class Secret(Kind):
    generation = False

    def default(self, obj: Object, version: str) -> None:
        """stringData is for writing only: it wins over data and leaves with decoding, as in
        kube-apiserver's conversion."""
        obj["type"] = obj.get("type") or "Opaque"
        texts = obj.pop("stringData", None)
        if texts:
            encoded = {
                k: base64.b64encode(v.encode("utf-8", "surrogatepass")).decode()
                for k, v in texts.items()
            }
            obj["data"] = {**(obj.get("data") or {}), **encoded}

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """An update without a type keeps the type, for the sake of old clients."""
        if not obj.get("type"):
            obj["type"] = old.get("type", "")

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        data = {k: base64.b64decode(v or "") for k, v in (obj.get("data") or {}).items()}
        errors: FieldErrors = []
        for key in sorted(data):
            errors += checks.rule(key, _DATA.key(key), names.config_map_key)
        if sum(map(len, data.values())) > MAX_BYTES:
            errors.append(too_long(_DATA, MAX_BYTES))
        return errors + list(_type_rules(obj, data))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        errors = list(checks.immutable(obj.get("type"), old.get("type"), checks.root("type")))
        return errors + list(checks.immutable_when_set(obj, old, context.empties, "data"))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if obj.get("type") != TLS:
            return []
        data = obj.get("data") or {}
        wrong = certificates.pair_problem(
            *(base64.b64decode(data.get(key) or "") for key in ("tls.crt", "tls.key"))
        )
        return [wrong] if wrong else []

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return [
            table.name(obj),
            obj.get("type", ""),
            len(obj.get("data") or ()),
            table.created(obj, now),
        ]

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"type": obj.get("type", "")}


def _type_rules(obj: Object, data: Mapping[str, bytes]) -> checks.Errors:
    kind = obj.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        if not (obj["metadata"].get("annotations") or {}).get(_SERVICE_ACCOUNT):
            yield required(checks.root("metadata", "annotations").key(_SERVICE_ACCOUNT))
    elif kind in _DOCKER_KEYS:
        key = _DOCKER_KEYS[kind]
        if key not in data:
            yield required(_DATA.key(key))
        elif wrong := _not_an_object(data[key]):
            yield invalid(_DATA.key(key), "<secret contents redacted>", wrong)
    elif kind == "kubernetes.io/basic-auth":
        if not data.keys() & {"username", "password"}:
            yield required(_DATA.key("username"))
            yield required(_DATA.key("password"))
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            yield required(_DATA.key("ssh-privatekey"))
    elif kind == TLS:
        for key in ("tls.crt", "tls.key"):
            if key not in data:
                yield required(_DATA.key(key))


def _not_an_object(content: bytes) -> str:
    """Go's complaint about JSON that is no object; "" when it is one."""
    text = content.decode("utf-8", "replace").strip(" \t\r\n")
    if not text:
        return "unexpected end of JSON input"
    try:
        value = json.loads(text)
    except RecursionError:
        return "exceeded max depth"
    except ValueError:
        return syntax_error(content + b" ")  # Go takes the end of the text for a space
    if isinstance(value, dict) or value is None:
        return ""
    kind = {bool: "bool", str: "string", list: "array"}.get(type(value), "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
