"""MutatingAdmissionPolicyBinding (v1 and v1beta1 are alike)."""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.admissionregistration.policies import SPEC
from apiserver.kinds.admissionregistration.policybinding import PolicyBindingKind
from apiserver.kinds.admissionregistration.rules import GROUP, mutated_operations_errors
from apiserver.kinds.base import WriteContext
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register(GROUP, "MutatingAdmissionPolicyBinding")
class MutatingAdmissionPolicyBinding(PolicyBindingKind):
    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        match = (obj.get("spec") or {}).get("matchResources")
        path = SPEC.child("matchResources")
        return [*super().validate(obj, context), *mutated_operations_errors(match, path)]
