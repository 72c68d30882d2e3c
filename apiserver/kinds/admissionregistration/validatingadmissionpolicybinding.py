"""ValidatingAdmissionPolicyBinding."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    ErrorType,
    FieldError,
    FieldErrors,
    duplicate,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.admissionregistration.policies import SPEC, binding_errors, param_ref_cell
from apiserver.kinds.admissionregistration.rules import GROUP, default_match_resources
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object, seen_before
from apiserver.meta.times import age

_ACTIONS = ["Audit", "Deny", "Warn"]
_POINTLESS = (
    "repeating the same validation failure information in the API response and headers "
    "serves no purpose"
)


@register(GROUP, "ValidatingAdmissionPolicyBinding")
class ValidatingAdmissionPolicyBinding(Kind):
    standard_finalizers = False
    allow_unconditional_update = False
    declared = Declared(
        {
            "spec.policyName": [t.alpha(t.required())],
            "spec.validationActions": [t.alpha(t.required())],
        }
    )

    def default(self, obj: Object, version: str) -> None:
        default_match_resources((obj.get("spec") or {}).get("matchResources"))

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj.get("spec") or {}
        return [*map(_marked, binding_errors(spec)), *_actions(spec.get("validationActions") or [])]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        return [
            metadata["name"],
            spec.get("policyName", ""),
            param_ref_cell(spec),
            age(metadata.get("creationTimestamp"), now),
        ]


def _marked(error: FieldError) -> FieldError:
    return (
        next(covered([error]))
        if error.type is ErrorType.REQUIRED and error.path == "spec.policyName"
        else error
    )


def _actions(actions: list[str]) -> c.Errors:
    path = SPEC.child("validationActions")
    for i, (action, again) in enumerate(zip(actions, seen_before(actions), strict=True)):
        if action not in _ACTIONS:
            yield not_supported(path.at(i), action, _ACTIONS)
        if again:
            yield duplicate(path.at(i), action)
    if "Deny" in actions and "Warn" in actions:
        yield invalid(path, actions, f"must not contain both Deny and Warn ({_POINTLESS})")
    if not actions:
        yield from covered([required(path, "at least one validation action is required")])
