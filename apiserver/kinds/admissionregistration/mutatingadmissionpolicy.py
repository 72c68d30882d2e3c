"""MutatingAdmissionPolicy (v1 and v1beta1 are alike)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldPath, invalid, not_supported, required
from apiserver.kinds.admissionregistration.expressions import OBJECT, PATCHES, Expression
from apiserver.kinds.admissionregistration.policies import (
    SPEC,
    PolicyKind,
    defined,
    param_kind_cell,
)
from apiserver.kinds.admissionregistration.rules import (
    GROUP,
    REINVOCATION_POLICIES,
    expression_errors,
)
from apiserver.kinds.common import checks as c
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_PATCHES = {
    "ApplyConfiguration": ("applyConfiguration", OBJECT),
    "JSONPatch": ("jsonPatch", PATCHES),
}


@register(GROUP, "MutatingAdmissionPolicy")
class MutatingAdmissionPolicy(PolicyKind):
    mutating = True

    def outcome_errors(self, spec: Object, name: str) -> c.Errors:
        return _mutations(spec)

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
    member, results = _PATCHES[kind]
    patch = mutation.get(member)
    if patch is None:
        yield required(path.child(member), f"must be specified when patchType is {kind}")
    else:
        expression = Expression(
            patch.get("expression", "").strip(),
            results,
            params=spec.get("paramKind") is not None,
            mutating=True,
            variables=defined(spec),
        )
        yield from expression_errors(expression, path.child(member, "expression"))
    for other, _ in _PATCHES.values():
        if other != member and mutation.get(other) is not None:
            text = f"must not be specified when patchType is {kind}"
            yield invalid(path.child(other), f"{{{other}}}", text)
