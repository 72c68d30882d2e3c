"""MutatingAdmissionPolicy (v1 and v1beta1 are alike)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, not_supported, required
from apiserver.kinds.admissionregistration.admissionkind import AdmissionKind
from apiserver.kinds.admissionregistration.expressions import OBJECT, PATCHES, Expression
from apiserver.kinds.admissionregistration.policies import (
    SPEC,
    default_policy,
    param_kind_cell,
    policy_errors,
    variables_of,
)
from apiserver.kinds.admissionregistration.rules import (
    GROUP,
    REINVOCATION_POLICIES,
    expression_errors,
    mutated_operations_errors,
)
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_PATCHES = {
    "ApplyConfiguration": ("applyConfiguration", OBJECT),
    "JSONPatch": ("jsonPatch", PATCHES),
}


@register(GROUP, "MutatingAdmissionPolicy")
class MutatingAdmissionPolicy(AdmissionKind):
    standard_finalizers = False
    metadata_update = False
    allow_unconditional_update = False

    def default(self, obj: Object, version: str) -> None:
        default_policy(obj.setdefault("spec", {}))

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj.get("spec") or {}
        return [
            *policy_errors(spec),
            *mutated_operations_errors(
                spec.get("matchConstraints"), SPEC.child("matchConstraints")
            ),
            *_mutations(spec),
        ]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        return [
            metadata["name"],
            len(spec.get("mutations") or []),
            param_kind_cell(spec),
            age(metadata.get("creationTimestamp"), now),
        ]


def _mutations(spec: Object) -> c.Errors:
    mutations, path = spec.get("mutations") or [], SPEC.child("mutations")
    if not mutations:
        yield required(path, "mutations must contain at least one item")
    for i, mutation in enumerate(mutations):
        yield from _mutation(mutation, spec, path.at(i))
    yield from c.one_of(
        spec.get("reinvocationPolicy"), SPEC.child("reinvocationPolicy"), REINVOCATION_POLICIES
    )


def _mutation(mutation: Object, spec: Object, path: FieldPath) -> c.Errors:
    kind = mutation.get("patchType", "")
    if not kind:
        yield required(path.child("patchType"))
        return
    if kind not in _PATCHES:
        yield not_supported(path.child("patchType"), kind, sorted(_PATCHES))
        return
    for other, (member, results) in _PATCHES.items():
        patch, at = mutation.get(member), path.child(member)
        if other != kind:
            if patch is not None:
                yield invalid(
                    at, f"{{{member}}}", f"must not be specified when patchType is {kind}"
                )
        elif patch is None:
            yield required(at, f"must be specified when patchType is {kind}")
        else:
            params = spec.get("paramKind") is not None
            expression = Expression(
                patch.get("expression", "").strip(),
                results,
                params=params,
                mutating=True,
                variables=variables_of(spec),
            )
            yield from expression_errors(expression, at.child("expression"))
