"""What the types of a policy's expressions would be, if the objects that it is about were typed by
their schemas (k8s.io/apiserver ``policy/validating/typechecking.go``).

At run time objects are untyped, so what is found here are warnings for the policy's author.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from apiserver.cel.env import Env
from apiserver.cel.kubernetes.decltypes import declare, schema_decl_type
from apiserver.cel.kubernetes.policies import Variables, policy_env
from apiserver.cel.plan.program import Program, compile_fresh, error_text
from apiserver.cel.types import DYN, Type
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import definition
from apiserver.schema.definitions import META
from apiserver.schema.types import Schema

_TEXT = Schema(type="string")
_UNLIKE_VARIABLES = "0"
"""Ends the names of types (kube-apiserver's end in the nanoseconds of the moment): if there were a
type ``params.settings``, the expression ``params.settings`` would be that type to CEL, and not the
member of the variable."""


class Typed(NamedTuple):
    """One kind that a policy is about."""

    kind: GroupVersionKind
    schema: Schema


@dataclass(frozen=True, slots=True)
class Subject:
    """types: the kinds that the rules name, in order; has_params: whether there is a paramKind;
    params: its schema, None where it is not known."""

    types: Sequence[Typed]
    has_params: bool = False
    params: Schema | None = None


def check(spec: Mapping[str, Any], subject: Subject) -> list[dict[str, str]]:
    """The ``expressionWarnings`` of a ValidatingAdmissionPolicy's status. ``spec``: of the
    policy."""
    definitions = [
        (v.get("name", ""), v.get("expression", "")) for v in spec.get("variables") or ()
    ]
    base = _base(subject)
    envs = [(t.kind, _env(base, t, definitions)) for t in subject.types]
    warnings = []
    for i, validation in enumerate(spec.get("validations") or ()):
        for member in ("expression", "messageExpression"):
            source = validation.get(member, "")
            if member == "messageExpression" and not source:
                continue
            texts = [f"{kind}: {text}\n" for kind, env in envs if (text := _problem(env, source))]
            if texts:
                path = f"spec.validations[{i}].{member}"
                warnings.append({"fieldRef": path, "warning": "\n".join(texts)})
    return warnings


def _base(subject: Subject) -> Env:
    """What is known for every type."""
    base = policy_env(subject.has_params, True)
    types, structs = dict(base.variables), dict(base.structs)
    del types["authorizer.requestResource"]  # kube-apiserver's type checker does not know it either
    if subject.params is not None:
        types["params"], more = _declared(subject.params, f"Params{_UNLIKE_VARIABLES}")
        structs |= more
    return replace(base, variables=types, structs=structs)


def _env(base: Env, typed: Typed, definitions: Sequence[tuple[str, str]]) -> Env:
    object_type, structs = _declared(typed.schema, f"{typed.kind.kind}{_UNLIKE_VARIABLES}")
    types = {**base.variables, "object": object_type, "oldObject": object_type}
    env = replace(base, variables=types, structs={**structs, **base.structs})
    variables = Variables()
    for name, source in definitions:
        variables.add(env, name, source)
    return variables.env(env)


def _declared(schema: Schema, name: str) -> tuple[Type, Mapping[str, Any]]:
    declared = schema_decl_type(schema if schema.builtin else _published(schema, root=True), True)
    return (DYN, {}) if declared is None else declare(declared, name)


def _published(schema: Schema, root: bool = False) -> Schema:
    """A part of a custom resource as OpenAPI documents have it, from which kube-apiserver takes the
    types: whole objects, the embedded ones too, have the metadata of all (apiextensions-apiserver
    ``controller/openapi/builder``, buildKubeNative)."""
    if not (root or schema.below.embedded):
        return schema
    properties = {n: _published(p) for n, p in (schema.properties or {}).items()}
    if root or schema.embedded_resource:
        properties |= {
            "apiVersion": _TEXT,
            "kind": _TEXT,
            "metadata": definition(META + "ObjectMeta"),
        }
    items, values = schema.items, schema.additional
    return replace(
        schema,
        properties=properties or None,
        items=_published(items) if items is not None else None,
        additional=_published(values) if values is not None else None,
        cache={},
    )


def _problem(env: Env, source: str) -> str:
    program = compile_fresh(env, source)
    return "" if isinstance(program, Program) else error_text(source, program)
