"""Scopes of a ResourceQuota: which there are, what they may be combined with (kubernetes
``pkg/apis/core/helper``, validation)."""

from __future__ import annotations

from functools import cache, partial

from apiserver.fielderrors import FieldPath, invalid, required
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.resources import is_quota_name
from apiserver.meta.objects import Object

TERMINATING, NOT_TERMINATING = "Terminating", "NotTerminating"
BEST_EFFORT, NOT_BEST_EFFORT = "BestEffort", "NotBestEffort"
PRIORITY_CLASS, CROSS_NAMESPACE, VOLUME_ATTRIBUTES = (
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)

_COMPUTE = frozenset(
    {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
)
_CLAIMS = frozenset({"persistentvolumeclaims", "requests.storage"})
ALLOWED = {
    BEST_EFFORT: frozenset({"pods"}),
    NOT_BEST_EFFORT: _COMPUTE,
    TERMINATING: _COMPUTE,
    NOT_TERMINATING: _COMPUTE,
    PRIORITY_CLASS: _COMPUTE,
    CROSS_NAMESPACE: _COMPUTE,
    VOLUME_ATTRIBUTES: _CLAIMS,
}
_ONLY_EXISTS = (TERMINATING, NOT_TERMINATING, BEST_EFFORT, NOT_BEST_EFFORT, CROSS_NAMESPACE)
_CONFLICTS = ({BEST_EFFORT, NOT_BEST_EFFORT}, {TERMINATING, NOT_TERMINATING})
_MUST_EXIST = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)


def scopes_errors(spec: Object) -> c.Errors:
    scopes, path, misfits = (
        spec.get("scopes") or [],
        FieldPath("spec.scopes"),
        cache(partial(_misfits, spec)),
    )
    for scope in scopes:
        if scope not in ALLOWED:
            yield invalid(path, scopes, "unsupported scope")
        for _ in range(misfits(scope)):
            yield invalid(path, scopes, "unsupported scope applied to resource")
    for pair in _CONFLICTS:
        if pair <= set(scopes):
            yield invalid(path, scopes, "conflicting scopes")


def _misfits(spec: Object, scope: str) -> int:
    """How many of the quota's resources the scope does not go with."""
    if scope not in ALLOWED:
        return 0
    return sum(
        is_quota_name(name) and name not in ALLOWED[scope] for name in spec.get("hard") or {}
    )


def scope_selector_errors(spec: Object) -> c.Errors:
    selector = spec.get("scopeSelector")
    if selector is None:
        return
    path, misfits = FieldPath("spec.scopeSelector.matchExpressions"), cache(partial(_misfits, spec))
    selector_text = cache(lambda: quote("core.v1.ScopeSelector", selector))
    requirements = selector.get("matchExpressions") or []
    for requirement in requirements:
        scope = requirement.get("scopeName", "")
        if scope not in ALLOWED:
            yield invalid(path.child("scopeName"), scope, "unsupported scope")
        for _ in range(misfits(scope)):
            yield invalid(path, selector_text(), "unsupported scope applied to resource")
        yield from _operator(requirement, scope, path)
    used = {r.get("scopeName") for r in requirements}
    for pair in _CONFLICTS:
        if pair <= used:
            yield invalid(path, spec.get("scopes"), "conflicting scopes")


def _operator(requirement: Object, scope: str, path: FieldPath) -> c.Errors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if scope in _ONLY_EXISTS and operator != "Exists":
        yield invalid(path.child("operator"), operator, _MUST_EXIST)
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(path.child("values"), why)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(path.child("values"), values, why)
    else:
        yield invalid(path.child("operator"), operator, "not a valid selector operator")
