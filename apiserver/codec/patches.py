"""Bodies of PATCH requests: bytes to JSON values, with the errors of each kind of patch.

The algorithms are in apiserver.patch and take the values that come from here. ``check``: whether
duplicate and unknown members are looked for (fieldValidation Warn and Strict); without it,
kube-apiserver decodes in another way and words some errors differently. Source: k8s.io/apiserver
``endpoints/handlers/patch.go`` at v0.36.
"""

from __future__ import annotations

import re
from typing import Any

from apiserver.codec import cbor, json, yaml
from apiserver.codec.body import WRONG_KIND, json_kind
from apiserver.codec.strict import patch_invalid
from apiserver.errors import BadRequest
from apiserver.meta.objects import Object

_OPERATION_MEMBERS = {"op": "string", "path": "string", "from": "string", "value": ""}
_MAP = "map[string]interface {}"
_DOUBLED = re.compile(rf'duplicate field "\[(\d+)]\.(?:{"|".join(_OPERATION_MEMBERS)})[".\[]')


def decode_json_patch(body: bytes, *, check: bool = True) -> tuple[list[Object], list[str]]:
    """(operations, strict errors). Raises BadRequest."""
    prefix = "error decoding patch: " if check else ""
    try:
        value, duplicates = json.loads(body)
    except json.JSONError as e:
        raise BadRequest(f"{prefix}{e}") from None
    if value is None:
        return [], []
    if not isinstance(value, list):
        raise BadRequest(
            f"{prefix}{_mismatch(value, '[]handlers.jsonPatchOp' if check else 'jsonpatch.Patch')}"
        )
    given = duplicates.given if isinstance(duplicates, json.Duplicates) else value
    doubled = _by_operation(duplicates)
    errors: list[str] = []
    for i, operation in enumerate(value):
        if operation is None:
            continue
        if not isinstance(operation, dict):
            raise BadRequest(
                prefix
                + _mismatch(operation, "handlers.jsonPatchOp" if check else "jsonpatch.Operation")
            )
        if check:
            errors += doubled.get(i, [])
            errors += _check_operation(i, given[i], prefix)
    return value, [f"json patch {e}" for e in errors] if check else []


def _by_operation(duplicates: list[str]) -> dict[int, list[str]]:
    """In operations' order, where Go's decoder comes across them; not those in members that it does
    not know, and does not look into."""
    found: dict[int, list[str]] = {}
    for error in duplicates:
        if at := _DOUBLED.match(error):
            found.setdefault(int(at[1]), []).append(error)
    return found


def _check_operation(i: int, operation: Object, prefix: str) -> list[str]:
    for name, value in operation.items():
        kind = _OPERATION_MEMBERS.get(name)
        if kind and value is not None and not isinstance(value, str):
            raise BadRequest(
                f"{prefix}json: cannot unmarshal {json_kind(value)} into Go struct field "
                f"jsonPatchOp.{name} of type {kind}"
            )
    return [f'unknown field "[{i}].{name}"' for name in operation if name not in _OPERATION_MEMBERS]


def decode_merge_patch(body: bytes, *, check: bool = True) -> tuple[Object, list[str]]:
    """(patch, strict errors). Raises BadRequest, and Invalid for a list that nothing checks before
    it has replaced the object."""
    try:
        value, duplicates = json.loads(body)
    except json.JSONError as e:
        raise BadRequest(f"error decoding patch: {e}" if check else "Invalid JSON Patch") from None
    if isinstance(value, dict):
        return value, duplicates if check else []
    if value is None or (not check and not isinstance(value, list)):
        raise BadRequest("Invalid JSON Patch")
    if check:
        raise BadRequest(f"error decoding patch: {_mismatch(value, _MAP)}")
    raise patch_invalid(
        json.encode(value).decode(),
        _mismatch(value, WRONG_KIND, "couldn't get version/kind; json parse error: json"),
    )


def decode_strategic_patch(body: bytes, *, check: bool = True) -> tuple[Object, list[str]]:
    """(patch, strict errors); null is an empty patch. Raises BadRequest."""
    try:
        value, duplicates = json.loads(body)
    except json.JSONError as e:
        raise BadRequest(str(e)) from None
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        raise BadRequest(_mismatch(value, _MAP))
    return value, duplicates if check else []


def decode_apply_patch(body: bytes) -> tuple[Object, str]:
    """(applied configuration, strict error or ""): YAML, of which JSON is a part. Raises
    BadRequest.

    The strict error becomes a 400 (`reject_apply`) or warnings only after the apply itself has
    succeeded."""
    try:
        value, errors = yaml.loads(body)
    except yaml.YAMLError as e:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {e}") from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        why = _mismatch(value, _MAP)
        raise BadRequest(
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}"
        )
    return value, f"error converting YAML to JSON: {errors[0]}" if errors else ""


def decode_apply_cbor(body: bytes) -> Object:
    """An applied configuration in CBOR. Raises BadRequest."""
    try:
        value = cbor.loads(body)
    except cbor.CBORError as e:
        raise BadRequest(f"error decoding YAML: {e}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        names = {"string": "UTF-8 text string", "number": "positive integer", "bool": "primitives"}
        kind_name = names.get(json_kind(value), json_kind(value))
        raise BadRequest(
            f"error decoding YAML: cbor: cannot unmarshal {kind_name} into Go value of type {_MAP}"
        )
    return value


def reject_apply(strict_error: str) -> BadRequest:
    return BadRequest(f"error strict decoding YAML: {strict_error}")


def _mismatch(value: Any, go_type: str, prefix: str = "json") -> str:
    return f"{prefix}: cannot unmarshal {json_kind(value)} into Go value of type {go_type}"
