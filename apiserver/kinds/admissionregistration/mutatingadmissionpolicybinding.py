"""MutatingAdmissionPolicyBinding (v1 and v1beta1 are alike)."""

from __future__ import annotations

from apiserver.kinds.admissionregistration.policybinding import PolicyBindingKind
from apiserver.kinds.admissionregistration.rules import GROUP
from apiserver.kinds.registration import register


@register(GROUP, "MutatingAdmissionPolicyBinding")
class MutatingAdmissionPolicyBinding(PolicyBindingKind):
    pass
