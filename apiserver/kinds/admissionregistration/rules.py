"""What webhooks and policies have in common: rules, selectors, match conditions (kubernetes
``pkg/apis/admissionregistration``)."""

from __future__ import annotations

from apiserver.fielderrors import (
    FieldPath,
    duplicate,
    internal,
    invalid,
    not_supported,
    required,
    too_many,
)
from apiserver.kinds.admissionregistration.expressions import CONDITION, Expression, compiled
from apiserver.kinds.common import checks as c
from apiserver.meta import names
from apiserver.meta.objects import Object, seen_before
from apiserver.schema.labelselector import validate_label_selector

GROUP = "admissionregistration.k8s.io"
FAILURE_POLICIES = ["Fail", "Ignore"]
MATCH_POLICIES = ["Equivalent", "Exact"]
REINVOCATION_POLICIES = ["IfNeeded", "Never"]
_OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
_MUTATED = ["*", "CONNECT", "CREATE", "UPDATE"]
_SCOPES = ["*", "Cluster", "Namespaced"]


# --- defaults -------------------------------------------------------------------------------------
def default_rules(rules: list[Object] | None) -> None:
    for rule in rules or []:
        if rule.get("scope") is None:
            rule["scope"] = "*"


def default_match_resources(match: Object | None) -> None:
    if match is None:
        return
    default_selectors(match)
    for member in ("resourceRules", "excludeResourceRules"):
        default_rules(match.get(member))


def default_selectors(match: Object) -> None:
    """Of a webhook or of MatchResources."""
    if match.get("matchPolicy") is None:
        match["matchPolicy"] = "Equivalent"
    for member in ("namespaceSelector", "objectSelector"):
        if match.get(member) is None:
            match[member] = {}


# --- rules ----------------------------------------------------------------------------------------
def rule_errors(rule: Object, path: FieldPath) -> c.Errors:
    operations = rule.get("operations") or []
    yield from _names(operations, path.child("operations"), "operations")
    for i, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield not_supported(path.child("operations").at(i), operation, _OPERATIONS)
    yield from _names(rule.get("apiGroups") or [], path.child("apiGroups"), "API groups")
    versions = rule.get("apiVersions") or []
    yield from _names(versions, path.child("apiVersions"), "API versions")
    for i, version in enumerate(versions):
        if not version:
            yield required(path.child("apiVersions").at(i))
    yield from _resources(rule.get("resources") or [], path.child("resources"))
    yield from c.optional_one_of(rule.get("scope"), path.child("scope"), _SCOPES)


def _names(values: list[str], path: FieldPath, what: str) -> c.Errors:
    if not values:
        yield required(path)
    elif len(values) > 1 and "*" in values:
        yield invalid(path, values, f"if '*' is present, must not specify other {what}")


def _resources(resources: list[str], path: FieldPath) -> c.Errors:
    if not resources:
        yield required(path)
    all_of_resource: set[str] = set()
    sub_of_all: set[str] = set()
    plain = False
    for i, text in enumerate(resources):
        if not text:
            yield required(path.at(i))
            continue
        resource, slash, sub = text.partition("/")
        if not slash:
            plain = text != "*"
            continue
        if resource in all_of_resource:
            yield invalid(
                path.at(i), text, f"if '{resource}/*' is present, must not specify {text}"
            )
        if sub in sub_of_all:
            yield invalid(path.at(i), text, f"if '*/{sub}' is present, must not specify {text}")
        if sub == "*":
            all_of_resource.add(resource)
        if resource == "*":
            sub_of_all.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and plain:
        yield invalid(
            path,
            resources,
            "if '*' is present, must not specify other resources without subresources",
        )


def match_resources_errors(match: Object | None, path: FieldPath) -> c.Errors:
    if match is None:
        return
    yield from _required_one_of(match.get("matchPolicy"), path.child("matchPolicy"), MATCH_POLICIES)
    for member in ("namespaceSelector", "objectSelector"):
        if match.get(member) is None:
            yield required(path.child(member))
        yield from validate_label_selector(match.get(member), path.child(member))
    for member in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(match.get(member) or []):
            at, listed = path.child(member).at(i), rule.get("resourceNames") or []
            for j, name in enumerate(listed):
                yield from c.name(name, at.child("resourceNames").at(j), names.path_segment)
            for j, again in enumerate(seen_before(listed)):
                if again:
                    yield duplicate(at.child("resourceNames").at(j), listed[j])
            yield from rule_errors(rule, at)


def mutated_operations_errors(match: Object | None, path: FieldPath) -> c.Errors:
    """What is deleted cannot be mutated; the path has no indexes (validateMutatingAdmissionPolicy
    in kubernetes ``pkg/apis/admissionregistration/validation``)."""
    for rule in (match or {}).get("resourceRules") or []:
        for operation in rule.get("operations") or []:
            if operation not in _MUTATED:
                yield not_supported(path.child("resourceRules", "operations"), operation, _MUTATED)


def _required_one_of(value: str | None, path: FieldPath, supported: list[str]) -> c.Errors:
    if value is None:
        yield required(path)
    elif value not in supported:
        yield not_supported(path, value, supported)


def failure_policy_errors(spec: Object, path: FieldPath) -> c.Errors:
    yield from _required_one_of(
        spec.get("failurePolicy"), path.child("failurePolicy"), FAILURE_POLICIES
    )


# --- match conditions -----------------------------------------------------------------------------
def match_conditions_errors(
    conditions: list[Object] | None, path: FieldPath, *, params: bool = False
) -> c.Errors:
    conditions = conditions or []
    if len(conditions) > 64:
        yield too_many(path, len(conditions), 64)
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        source, name, at = (
            condition.get("expression", "").strip(),
            condition.get("name", ""),
            path.at(i),
        )
        yield from expression_errors(
            Expression(source, CONDITION, params=params), at.child("expression"), ""
        )
        if not name:
            yield required(at.child("name"))
            continue
        yield from c.qualified_name(name, at.child("name"))
        if name in seen:
            yield duplicate(at.child("name"), name)
        seen.add(name)


def expression_errors(
    expression: Expression, path: FieldPath, missing: str = "", *, written: str | None = None
) -> c.Errors:
    """``missing``: the detail when there is no expression; written: what errors quote in the place
    of what is compiled."""
    if not expression.source.strip():
        yield required(path, missing)
        return
    found = compiled(expression)
    if found.internal:
        yield internal(path, found.error)
    elif found.error:
        yield invalid(path, expression.source if written is None else written, found.error)
