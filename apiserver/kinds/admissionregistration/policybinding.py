"""What bindings of validating and of mutating admission policies share."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.admissionregistration.admissionkind import AdmissionKind
from apiserver.kinds.admissionregistration.policies import binding_errors, param_ref_cell
from apiserver.kinds.admissionregistration.rules import default_match_resources
from apiserver.kinds.base import WriteContext
from apiserver.meta.objects import Object
from apiserver.meta.times import age


class PolicyBindingKind(AdmissionKind):
    standard_finalizers = False
    metadata_update = False
    allow_unconditional_update = False

    def default(self, obj: Object, version: str) -> None:
        default_match_resources((obj.get("spec") or {}).get("matchResources"))

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(binding_errors(obj.get("spec") or {}))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        return [
            metadata["name"],
            spec.get("policyName", ""),
            param_ref_cell(spec),
            age(metadata.get("creationTimestamp"), now),
        ]
