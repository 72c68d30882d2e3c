"""What a mutation makes of an object (k8s.io/apiserver ``policy/mutating/patch``). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from admission.policy.compiled import Mutation
from apiserver.cel.errors import EvalError
from apiserver.cel.kubernetes.patchtypes import (
    JsonPatchValue,
    ObjectValue,
    patch_operation,
    to_json,
    type_name_errors,
)
from apiserver.cel.kubernetes.policies import Evaluation, OutOfBudget
from apiserver.errors import InternalError
from apiserver.fieldmanager.combine import combine
from apiserver.fieldmanager.typed import TypedError, validate
from apiserver.fieldmanager.types import Type
from apiserver.fieldmanager.values import Value
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.raw import without_texts
from apiserver.patch.jsonpatch import TestFailed, apply_json_patch
from apiserver.patch.values import PatchRefused
from apiserver.schema.decode import DecodeError

Decode = Callable[[Object], tuple[Object, Sequence[str]]]
"""As `Lookup.decode`."""


class MutationError(Exception):
    """A mutation that cannot be applied; the text is kube-apiserver's."""


@dataclass(frozen=True, slots=True)
class Target:
    """What objects of a policy's version are. type: to server-side apply."""

    type: Type
    decode: Decode


def mutate(mutation: Mutation, evaluation: Evaluation, obj: Object, target: Target) -> Object:
    """The mutated object, decoded and defaulted; ``obj`` stays as it is. Raises MutationError,
    InternalError where a patch makes something else of it than an object of its kind."""
    expression = mutation.expression.get()
    if expression.program is None:
        raise MutationError(expression.error)
    try:
        result = evaluation.evaluate(expression)
    except OutOfBudget as error:
        raise MutationError(str(error)) from None
    if result.error:
        raise MutationError(result.error)
    if mutation.merges:
        return _merge(result.value, obj, target)
    return _patch(result.value, obj, target)


# --- ApplyConfiguration ---------------------------------------------------------------------------
def _merge(value: ObjectValue, obj: Object, target: Target) -> Object:
    errors = type_name_errors(value)
    if errors:
        raise MutationError("type mismatch: " + "\n".join(errors))
    try:
        configuration = to_json(value)
    except EvalError as error:
        raise MutationError(error.message) from None
    configuration |= {name: obj[name] for name in ("apiVersion", "kind") if name in obj}
    try:
        merged = _merged(target.type, configuration, without_texts(obj))
    except MutationError as error:
        raise MutationError(f"error applying patch: {error}") from None
    try:
        return target.decode(copy_json(merged))[0]  # it shares parts with the configuration
    except DecodeError as error:
        raise MutationError(str(error)) from None


def _merged(t: Type, configuration: Object, obj: Object) -> Object:
    _check(t, configuration, "failed to convert patch object to typed object", duplicates=False)
    atomics = list(_atomics(t, configuration, ""))
    if atomics:
        raise MutationError(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
            + ", ".join(atomics)
        )
    _check(t, obj, "failed to convert original object to typed object", duplicates=True)
    try:
        merged: Object = combine(t, obj, configuration)
    except TypedError as error:
        raise MutationError(f"failed to merge patch: {error}") from None
    return merged


def _check(t: Type, value: Object, what: str, *, duplicates: bool) -> None:
    try:
        validate(t, value, allow_duplicates=duplicates)
    except TypedError as error:
        raise MutationError(f"{what}: {error}") from None


def _atomics(t: Type | None, value: Value, path: str) -> Iterator[str]:
    """Paths of what would lose all that the configuration does not name."""
    if t is None:
        return
    if t.map is not None and isinstance(value, dict):
        if t.map.atomic:
            yield path
        for name, item in value.items():
            yield from _atomics(t.map.field(name), item, f"{path}.{name}")
    elif t.list is not None and isinstance(value, list):
        if t.list.atomic:
            yield path
        for i, item in enumerate(value):
            yield from _atomics(t.list.element, item, f"{path}[{i}]")


# --- JSONPatch ------------------------------------------------------------------------------------
def _patch(value: Sequence[JsonPatchValue], obj: Object, target: Target) -> Object:
    try:
        operations = [patch_operation(operation) for operation in value]
    except EvalError as error:
        raise MutationError(error.message) from None
    try:
        patched: Any = apply_json_patch(obj, operations)
    except TestFailed:
        return obj
    except PatchRefused as error:
        raise MutationError(f"JSON Patch: {error.why}") from None
    try:
        decoded, unknown = target.decode(patched)
    except DecodeError as error:
        raise InternalError(str(error)) from None
    if unknown:
        raise InternalError("strict decoding error: " + ", ".join(unknown))
    return decoded
