"""ValidatingAdmissionPolicyBinding."""

from __future__ import annotations

from apiserver.fielderrors import (
    ErrorType,
    FieldError,
    FieldErrors,
    duplicate,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.admissionregistration.policies import SPEC
from apiserver.kinds.admissionregistration.policybinding import PolicyBindingKind
from apiserver.kinds.admissionregistration.rules import GROUP
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object, seen_before

_ACTIONS = ["Audit", "Deny", "Warn"]
_POINTLESS = (
    "repeating the same validation failure information in the API response and headers "
    "serves no purpose"
)


@register(GROUP, "ValidatingAdmissionPolicyBinding")
class ValidatingAdmissionPolicyBinding(PolicyBindingKind):
    declared = Declared(
        {
            "spec.policyName": [t.alpha(t.required())],
            "spec.validationActions": [t.alpha(t.required())],
        }
    )

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        errors = map(_marked, super().validate(obj, context))
        return [*errors, *_actions((obj.get("spec") or {}).get("validationActions") or [])]


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
