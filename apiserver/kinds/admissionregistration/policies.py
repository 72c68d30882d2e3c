"""What validating and mutating admission policies and their bindings share."""

from __future__ import annotations

import re

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.admissionregistration import rules
from apiserver.kinds.admissionregistration.admissionkind import AdmissionKind
from apiserver.kinds.admissionregistration.expressions import Definitions, Expression
from apiserver.kinds.admissionregistration.rules import expression_errors
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import selectors
from apiserver.meta import names
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.objects import Object
from apiserver.schema.labelselector import validate_label_selector

SPEC = FieldPath("spec")

_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    {
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    }
)
_NOT_FOUND_ACTIONS = ["Deny", "Allow"]


class PolicyKind(AdmissionKind):
    """mutating: whether its operations are those that change something."""

    standard_finalizers = False
    metadata_update = False
    allow_unconditional_update = False
    mutating = False

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("failurePolicy") is None:
            spec["failurePolicy"] = "Fail"
        rules.default_match_resources(spec.get("matchConstraints"))

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return self._errors(obj, {})

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return self._errors(obj, old)

    def outcome_errors(self, spec: Object, name: str) -> c.Errors:
        """Of what the policy of that name does where its conditions match."""
        raise NotImplementedError

    def _errors(self, obj: Object, old: Object) -> FieldErrors:
        spec, before = obj.get("spec") or {}, old.get("spec") or {}
        return [
            *_policy_errors(spec, before, mutating=self.mutating),
            *self.outcome_errors(spec, obj["metadata"].get("name", "")),
        ]


def _policy_errors(spec: Object, before: Object, *, mutating: bool) -> c.Errors:
    """failurePolicy, paramKind, matchConstraints, matchConditions and variables. before: the stored
    spec, {} on create: match conditions that an update leaves as they are, with the paramKind, are
    not asked again."""
    yield from rules.failure_policy_errors(spec, SPEC)
    if spec.get("paramKind") is not None:
        yield from _param_kind(spec["paramKind"], SPEC.child("paramKind"))
    match, path = spec.get("matchConstraints"), SPEC.child("matchConstraints")
    if match is None:
        yield required(path)
    else:
        yield from rules.match_resources_errors(match, path)
        if not match.get("resourceRules"):
            yield required(path.child("resourceRules"))
        if mutating:
            yield from rules.mutated_operations_errors(match, path)
    params = spec.get("paramKind") is not None
    if any(spec.get(m) != before.get(m) for m in ("paramKind", "matchConditions")):
        yield from rules.match_conditions_errors(
            spec.get("matchConditions"), SPEC.child("matchConditions"), params=params
        )
    yield from _variables(spec, params)


def variables_of(spec: Object) -> Definitions | None:
    """For expressions of a validating policy, in which there is no ``variables`` where none is
    declared."""
    return defined(spec) if spec.get("variables") else None


def defined(spec: Object) -> Definitions:
    """The variables that have an expression: to others, those without one are not there."""
    pairs = ((v.get("name", ""), v.get("expression", "")) for v in spec.get("variables") or [])
    return tuple((name, source) for name, source in pairs if source.strip())


def _variables(spec: Object, params: bool) -> c.Errors:
    known = 0
    definitions = defined(spec)
    for i, variable in enumerate(spec.get("variables") or []):
        path = SPEC.child("variables").at(i)
        name, source = variable.get("name", ""), variable.get("expression", "")
        if not name.strip():
            yield required(path.child("name"), "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            yield invalid(path.child("name"), name, "must be a valid CEL identifier")
        expression = Expression(source, params=params, variables=definitions[:known])
        known += bool(source.strip())
        yield from expression_errors(
            expression, path.child("expression"), "expression is not specified"
        )


def _param_kind(kind: Object, path: FieldPath) -> c.Errors:
    version, name, at = kind.get("apiVersion", ""), kind.get("kind", ""), path.child("apiVersion")
    if not version:
        yield required(at)
    elif version.count("/") > 1:
        yield invalid(at, version, f"unexpected GroupVersion string: {version}")
    else:
        parsed = GroupVersion.parse(version)
        yield from _joined(
            parsed.group, at, names.dns1123_subdomain(parsed.group) if parsed.group else []
        )
        if not parsed.version:
            yield invalid(at, version, "version must be specified")
        else:
            yield from _joined(parsed.version, at, names.dns1035_label(parsed.version))
    if not name:
        yield required(path.child("kind"))
    else:
        wrong = names.dns1035_label(name.lower())
        if wrong:
            yield invalid(
                path.child("kind"),
                name,
                f"may have mixed case, but should otherwise match: {','.join(wrong)}",
            )


def _joined(value: str, path: FieldPath, wrong: list[str]) -> c.Errors:
    if wrong:
        yield invalid(path, value, ",".join(wrong))


# --- bindings -------------------------------------------------------------------------------------
def binding_errors(spec: Object) -> c.Errors:
    """policyName, paramRef, matchResources."""
    if not spec.get("policyName"):
        yield required(SPEC.child("policyName"))
    else:
        yield from c.dns_subdomain(spec["policyName"], SPEC.child("policyName"))
    yield from _param_ref(spec.get("paramRef"), SPEC.child("paramRef"))
    yield from rules.match_resources_errors(
        spec.get("matchResources"), SPEC.child("matchResources")
    )


def _param_ref(ref: Object | None, path: FieldPath) -> c.Errors:
    if ref is None:
        return
    name, selector, action = (
        ref.get("name", ""),
        ref.get("selector"),
        ref.get("parameterNotFoundAction"),
    )
    both = bool(name) and selector is not None
    if name:
        yield from c.name(name, path.child("name"), names.path_segment)
    if both:
        yield forbidden(path.child("name"), "name and selector are mutually exclusive")
    yield from validate_label_selector(selector, path.child("selector"))
    if both:
        yield forbidden(path.child("selector"), "name and selector are mutually exclusive")
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    at = path.child("parameterNotFoundAction")
    if not action:
        yield required(at)
    elif action not in _NOT_FOUND_ACTIONS:
        yield not_supported(at, action, _NOT_FOUND_ACTIONS)


def param_kind_cell(spec: Object) -> str:
    kind = spec.get("paramKind")
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind is not None else "<unset>"


def param_ref_cell(spec: Object) -> str:
    ref = spec.get("paramRef") or {}
    if ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{ref['name']}"
    selector = ref.get("selector")
    return "<unset>" if selector is None else selectors.as_go_prints(selector)
