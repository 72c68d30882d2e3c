"""The patch of a mutating webhook: read, and applied to the object that the webhook was sent.

Source: k8s.io/apiserver ``admission/plugin/webhook/mutating/dispatcher.go``; texts of what does not
apply are those of evanphx/json-patch v4.
"""

from __future__ import annotations

import base64
from typing import Any

from admission.webhooks.denial import CallFailure
from admission.webhooks.review import JSON_PATCH, Response
from apiserver.codec import json
from apiserver.errors import ApiError, InternalError
from apiserver.golang.json import type_name
from apiserver.golang.strconv import go_quote
from apiserver.meta.objects import Object
from apiserver.patch.jsonpatch import Operation, apply_json_patch
from apiserver.patch.values import PatchRefused


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
