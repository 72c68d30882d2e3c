"""Validation of policy rules, role references and subjects (kubernetes
``pkg/apis/rbac/validation``)."""

from __future__ import annotations

from apiserver.fielderrors import FieldPath, invalid, not_supported, required
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.internal import quote
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.meta import names
from apiserver.meta.objects import Object

GROUP = "rbac.authorization.k8s.io"

DECLARED_ROLE = Declared(
    {"rules": [t.alpha(t.optional())], "rules[*].verbs": [t.alpha(t.required())]}
)
DECLARED_BINDING = Declared(
    {
        "subjects": [t.alpha(t.optional())],
        "subjects[*].name": [t.alpha(t.required())],
        "roleRef.name": [t.alpha(t.required())],
    }
)


def rule_errors(rules: list[Object] | None, *, namespaced: bool) -> c.Errors:
    for i, rule in enumerate(rules or []):
        yield from _rule(rule, FieldPath("rules").at(i), namespaced)


def _rule(rule: Object, path: FieldPath, namespaced: bool) -> c.Errors:
    if not rule.get("verbs"):
        yield from covered([required(path.child("verbs"), "verbs must contain at least one value")])
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            yield invalid(
                path.child("nonResourceURLs"),
                urls,
                "namespaced rules cannot apply to non-resource URLs",
            )
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            yield invalid(
                path.child("nonResourceURLs"),
                urls,
                "rules cannot apply to both regular resources and non-resource URLs",
            )
        return
    if not rule.get("apiGroups"):
        yield required(path.child("apiGroups"), "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(path.child("resources"), "resource rules must supply at least one resource")


def default_binding(binding: Object) -> None:
    """Role references and subjects name RBAC's own group, except that service accounts have
    none."""
    ref = binding.setdefault("roleRef", {})
    ref["apiGroup"] = ref.get("apiGroup") or GROUP
    ref.setdefault("kind", "")
    ref.setdefault("name", "")
    for subject in binding.get("subjects") or []:
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


def binding_errors(binding: Object, *, namespaced: bool) -> c.Errors:
    ref, path = binding.get("roleRef") or {}, FieldPath("roleRef")
    kinds = ["Role", "ClusterRole"] if namespaced else ["ClusterRole"]
    if ref.get("apiGroup", "") != GROUP:
        yield not_supported(path.child("apiGroup"), ref.get("apiGroup", ""), [GROUP])
    if ref.get("kind", "") not in kinds:
        yield not_supported(path.child("kind"), ref.get("kind", ""), kinds)
    if not ref.get("name"):
        yield from covered([required(path.child("name"))])
    else:
        yield from c.name(ref["name"], path.child("name"), names.path_segment)
    for i, subject in enumerate(binding.get("subjects") or []):
        yield from _subject(subject, FieldPath("subjects").at(i), namespaced)


def _subject(subject: Object, path: FieldPath, namespaced: bool) -> c.Errors:
    name, group, kind = (
        subject.get("name", ""),
        subject.get("apiGroup", ""),
        subject.get("kind", ""),
    )
    if not name:
        yield from covered([required(path.child("name"))])
    if kind == "ServiceAccount":
        if name:
            yield from c.dns_subdomain(name, path.child("name"))
        if group:
            yield not_supported(path.child("apiGroup"), group, [""])
        if not namespaced and not subject.get("namespace"):
            yield required(path.child("namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            yield not_supported(path.child("apiGroup"), group, [GROUP])
    else:
        yield not_supported(path.child("kind"), kind, ["ServiceAccount", "User", "Group"])


def binding_update_errors(binding: Object, old: Object) -> c.Errors:
    new, before = binding.get("roleRef") or {}, old.get("roleRef") or {}
    if new != before:
        ref_text = quote("rbac.v1.RoleRef", new)
        yield invalid("roleRef", ref_text, "cannot change roleRef")


def subject_cells(binding: Object) -> tuple[str, str, str]:
    """Users, groups and service accounts of a binding, each joined by ", "."""
    users, groups, accounts = [], [], []
    for subject in binding.get("subjects") or []:
        name = subject.get("name", "")
        match subject.get("kind"):
            case "User":
                users.append(name)
            case "Group":
                groups.append(name)
            case "ServiceAccount":
                accounts.append(f"{subject.get('namespace', '')}/{name}")
    return ", ".join(users), ", ".join(groups), ", ".join(accounts)
