"""The patch of a mutating webhook: read, and applied to the object that the webhook was sent.

Source: k8s.io/apiserver ``admission/plugin/webhook/mutating/dispatcher.go``; texts of what does not
apply are those of evanphx/json-patch v4.
"""

from __future__ import annotations

import base64
from typing import Any

import orjson

from admission.webhooks.denial import CallFailure
from admission.webhooks.review import JSON_PATCH, Response
from apiserver.codec import body, json
from apiserver.errors import ApiError, InternalError, PlainError
from apiserver.golang.json import marshal, type_name
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.patch.jsonpatch import Operation, apply_json_patch
from apiserver.patch.values import PatchRefused
from apiserver.schema import builtin
from apiserver.schema.decode import decode


def operations_of(name: str, response: Response) -> list[Operation]:
    """``name``: of the webhook. Raises CallFailure for what is no JSON patch."""
    if not response.patch:
        return []
    try:
        value, _ = json.loads(base64.b64decode(response.patch))
        return _operations(value)
    except ValueError as error:
        why = f"received undecodable patch in webhook response: {error}"
        raise CallFailure(name, why, 503) from None


def _operations(value: Any) -> list[Operation]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(_mismatch(value, "jsonpatch.Patch"))
    for item in value:
        if not isinstance(item, dict) and item is not None:
            raise ValueError(_mismatch(item, "jsonpatch.Operation"))
    return [item or {} for item in value]


def _mismatch(value: Any, go_type: str) -> str:
    return f"json: cannot unmarshal {type_name(value)} into Go value of type {go_type}"


def apply(name: str, response: Response, operations: list[Operation], obj: Object | None) -> Any:
    """The patched JSON value; ``obj``, None where there is none to change, stays as it is. Raises
    CallFailure, InternalError."""
    if obj is None:
        raise InternalError(
            f"admission webhook {go_quote(name)} attempted to modify the object, which is not "
            f"supported for this operation"
        )
    if response.patch_type != JSON_PATCH:
        why = f"unsupported patch type {go_quote(response.patch_type)}"
        raise CallFailure(name, why, 400)
    try:
        return apply_json_patch(obj, operations)
    except PatchRefused as error:
        raise InternalError(error.why) from None
    except ApiError as error:
        raise InternalError(error.message) from None


def check_kind(value: Any, expected: GroupVersionKind) -> None:
    """What has become of the type of an object that was ``expected``. Of a custom object that has
    some kind of the group, validation says whether it is right. Raises InternalError, PlainError,
    DecodeError."""
    if not isinstance(value, dict):
        return  # decoding says so
    try:
        api_version, kind = body.read_kind(value)
    except body.BodyError as error:
        raise InternalError(str(error)) from None
    if builtin.has_go_type(expected):
        group_version = GroupVersion.parse(api_version or expected.api_version)
        _check_type(value, GroupVersionKind(*group_version, kind or expected.kind), expected)
        return
    if not kind:
        text = marshal(value, orjson.OPT_SORT_KEYS).decode()
        raise InternalError(f"Object 'Kind' is missing in '{text}'")
    group, version = GroupVersion.parse(api_version)
    if group != expected.group:
        raise PlainError(
            f"{group}/{version}, Kind={kind} is unstructured and is not suitable for converting to "
            f"{go_quote(expected.api_version)}"
        )


def _check_type(value: Object, claimed: GroupVersionKind, expected: GroupVersionKind) -> None:
    """It is decoded as what it says it is, and can then not be converted to what it was."""
    if claimed == expected:
        return
    if not builtin.has_go_type(claimed):
        raise InternalError(body.not_registered(claimed))
    if claimed in builtin.kinds():
        decode(builtin.schema_for(claimed), value)
    raise PlainError(body.not_converted(claimed, expected))
