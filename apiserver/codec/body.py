"""Bodies of create, update and delete: bytes to a JSON value and the kind that it claims to be.

Source: k8s.io/apimachinery ``runtime/serializer/json`` and k8s.io/apiserver
``endpoints/handlers/rest.go`` (transformDecodeError).
"""

from __future__ import annotations

from typing import Any

from apiserver.codec import json, yaml
from apiserver.errors import BadRequest
from apiserver.meta.gvk import GroupVersion, GroupVersionKind

WRONG_KIND = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
    '"json:\\"kind,omitempty\\"" }'
)
SCHEME = "pkg/api/legacyscheme/scheme.go:30"
"""Where kube-apiserver registers its types."""
_NO_KIND = "couldn't get version/kind; json parse error: "

REVIEW_VERSIONS = ("v1", "v1beta1")
"""Of the reviews that webhooks are sent."""
_REVIEW_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"


class BodyError(ValueError):
    """A body that does not even show its kind; `unrecognized` makes the answer of it."""


def decode_text(data: bytes, *, is_yaml: bool, merge: bool = False) -> tuple[Any, list[str]]:
    """(value, strict errors) of a JSON or YAML body. ``merge`` as for apiserver.codec.json.loads.
    An empty YAML body is an empty object.

    Raises BodyError."""
    try:
        value, errors = yaml.loads(data) if is_yaml else json.loads(data, merge=merge)
    except json.JSONError as e:
        raise BodyError(f"{_NO_KIND}{e}") from None
    except yaml.YAMLError as e:
        raise BodyError(str(e)) from None
    if value is None:
        value = {}
    if isinstance(errors, json.Duplicates):
        _check_members(errors.given)
    read_kind(value)
    return value, errors


def _check_members(given: Any) -> None:
    """What is given twice has to be right each time. Raises BodyError."""
    for name, member in given.items() if isinstance(given, dict) else ():
        if name in ("apiVersion", "kind"):
            _check_text(name, member)


def read_kind(value: Any) -> tuple[str, str]:
    """(apiVersion, kind) as written, "" where absent. Raises BodyError where they are no strings,
    apiVersion is malformed or ``value`` is no object."""
    if not isinstance(value, dict):
        raise BodyError(
            f"{_NO_KIND}json: cannot unmarshal {json_kind(value)} into Go value of type "
            f"{WRONG_KIND}"
        )
    api_version = _text(value, "apiVersion")
    kind = _text(value, "kind")
    try:
        GroupVersion.parse(api_version)
    except ValueError as e:
        raise BodyError(str(e)) from None
    return api_version, kind


def decode_review(data: bytes, group: str, kind: str, version: str) -> dict[str, Any]:
    """What a webhook answers a review of this type. An answer that does not say what it is, is
    taken for what was asked for (k8s.io/apiserver ``pkg/util/webhook``: both versions of a review
    are known, and neither is made of the other). Raises BodyError."""
    value: dict[str, Any]
    value, _ = decode_text(data, is_yaml=not data.lstrip().startswith(b"{"), merge=True)
    api_version, sent_kind = read_kind(value)
    sent_group, _, sent = api_version.rpartition("/")
    sent_group, sent = (sent_group, sent) if api_version else (group, version)
    sent_kind = sent_kind or kind
    known = (sent_group, sent_kind) == (group, kind) and sent in REVIEW_VERSIONS
    if known and sent == version:
        return value
    if known or (sent_group, sent, sent_kind) == ("", "v1", "Status"):
        raise BodyError(
            f"converting ({sent}.{sent_kind}) to ({version}.{kind}): unknown conversion"
        )
    raise BodyError(not_registered(GroupVersionKind(sent_group, sent, sent_kind), _REVIEW_SCHEME))


def _text(value: dict[str, Any], name: str) -> str:
    member = value.get(name)
    _check_text(name, member)
    return member or ""


def _check_text(name: str, member: Any) -> None:
    if member is not None and not isinstance(member, str):
        raise BodyError(
            f"{_NO_KIND}json: cannot unmarshal {json_kind(member)} into Go struct field "
            f".{name} of type string"
        )


def unrecognized(why: object, expected_kind: str, data: bytes) -> BadRequest:
    """400 for a body whose kind cannot be told. ``expected_kind``: kind of the endpoint."""
    return BadRequest(
        f"the object provided is unrecognized (must be of type {expected_kind}): {why} "
        f"({_summary(data)})"
    )


def not_registered(gvk: GroupVersionKind, scheme: str = SCHEME) -> str:
    return (
        f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" in scheme "{scheme}"'
    )


def not_internal(group: str, kind: str) -> str:
    return (
        f'no kind "{kind}" is registered for the internal version of group "{group}" in scheme '
        f'"{SCHEME}"'
    )


def not_converted(sent: GroupVersionKind, expected: GroupVersionKind) -> str:
    """Go types by package and name."""
    package = expected.group.split(".")[0] or "core"
    return (
        f"converting ({sent.version}.{sent.kind}) to ({package}.{expected.kind}): unknown "
        f"conversion"
    )


_SHOWN = 30
"""Bytes of a body."""


def _summary(data: bytes) -> str:
    """The beginning of a body: JSON as it is, anything else in hexadecimal."""
    if not data:
        return "<empty>"
    more = " ..." if len(data) > _SHOWN else ""
    head = data[:_SHOWN]
    return (head.decode(errors="replace") if head[:1] == b"{" else head.hex()) + more


def json_kind(value: Any) -> str:
    """What Go calls a JSON value in its errors."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
