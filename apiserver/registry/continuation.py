"""Continue tokens: where a list goes on, at which resourceVersion (k8s.io/apiserver
``storage/continue.go``).

The form is upstream's (base64 of JSON with v, rv and start), plus ``sig``: a signature over tenant,
version and key. A token of another tenant is refused; a token that carries no signature is read as
upstream reads it, because its key is always looked up inside the request's own tenant and resource
and can reach nothing else.
"""

from __future__ import annotations

import base64
import hmac
import posixpath
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import orjson

from apiserver.errors import BadRequest
from apiserver.golang.base64 import CorruptInput, decode_raw_url
from apiserver.golang.json import syntax_error, type_name
from apiserver.golang.math import is_int64

_VERSION = "meta.k8s.io/v1"
Sign = Callable[[bytes], bytes]
T = TypeVar("T")


class Position(NamedTuple):
    """resource_version -1: go on at the latest state (an inconsistent list). after: (namespace,
    name) of the last object shown."""

    resource_version: int
    after: tuple[str, str]


def encode(position: Position, tenant: int, namespace: str, sign: Sign, question: str = "") -> str:
    """``namespace``: of the list, "" for a list across namespaces or of cluster-scoped objects.
    ``question``: what only the same question may go on with
    (`apiserver.registry.questions.Question.digest`)."""
    ns, name = position.after
    key = (name if namespace or not ns else f"{ns}/{name}") + "\0"
    signature = base64.urlsafe_b64encode(
        sign(_signed(tenant, position.resource_version, key, question))[:12]
    ).decode()
    token = {"v": _VERSION, "rv": position.resource_version, "start": key, "sig": signature}
    if question:
        token["q"] = question
    return base64.urlsafe_b64encode(orjson.dumps(token)).decode().rstrip("=")


def _signed(tenant: int, rv: int, key: str, question: str) -> bytes:
    asked = f"\0{question}" if question else ""
    return f"continue\0{tenant}\0{rv}\0{key}{asked}".encode()


def decode(
    token: str,
    tenant: int,
    namespace: str,
    *,
    namespaced: bool,
    sign: Sign,
    question: str = "",
) -> Position:
    """``question``: of the request. Raises BadRequest with upstream's texts."""
    value = _read(token)
    version, rv, start = (
        _member(value, "v", ""),
        _member(value, "rv", 0),
        _member(value, "start", ""),
    )
    if version != _VERSION:
        raise _invalid(f"server does not recognize this encoded version {version}")
    if rv == 0:
        raise _invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not start:
        raise _invalid("encoded start key empty (version meta.k8s.io/v1)")
    path = start if start.startswith("/") else f"/{start}"
    if path.startswith("//") or posixpath.normpath(path) != path:
        raise _invalid(start)
    if "sig" in value:
        expected = sign(_signed(tenant, rv, start, _member(value, "q", "")))
        signature = base64.urlsafe_b64encode(expected[:12]).decode()
        if not hmac.compare_digest(signature.encode(), _member(value, "sig", "").encode()):
            raise _invalid("the token was not issued for this tenant")
    if _member(value, "q", "") != question:
        raise _invalid("the token was issued for another filter, sortBy or selector")
    return Position(rv, _after(path[1:], namespace, namespaced))


def _after(start: str, namespace: str, namespaced: bool) -> tuple[str, str]:
    """A key ends with NUL when the list goes on behind it; without, it begins there, which is
    behind its predecessor."""
    key = start.rstrip("\0")
    if key == start != "":
        key = start[:-1] + chr(ord(start[-1]) - 1) + "\U0010ffff"
    if namespace or not namespaced:
        return namespace, key
    ns, _, name = key.partition("/")
    return ns, name


def _read(token: str) -> dict[str, object]:
    try:
        raw = decode_raw_url(token)
    except CorruptInput as e:
        raise _invalid(str(e)) from None
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise _invalid(syntax_error(raw)) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _invalid(
            f"json: cannot unmarshal {type_name(value)} into Go value of type storage.continueToken"
        )
    return value


def _member(value: Mapping[str, object], name: str, absent: T) -> T:
    """A member of the type of ``absent``, as Go decodes it into a struct: null is absent, and the
    name may be in capitals."""
    named = [m for key, m in value.items() if key.casefold() == name and m is not None]
    if not named:
        return absent
    member = named[-1]
    if type(member) is not type(absent) or (type(member) is int and not is_int64(member)):
        number = (
            f" {orjson.dumps(member).decode()}"
            if type_name(member) == "number" and isinstance(absent, int)
            else ""
        )
        go_type = "int64" if isinstance(absent, int) else "string"
        raise _invalid(
            f"json: cannot unmarshal {type_name(member)}{number} into Go struct field "
            f"continueToken.{name} of type {go_type}"
        )
    return member


def _invalid(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}")
