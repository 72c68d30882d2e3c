"""FlowSchema (kubernetes ``pkg/apis/flowcontrol``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.internal import quote
from apiserver.kinds.flowcontrol.conditions import FlowControlKind
from apiserver.kinds.flowcontrol.mandatory import mandatory_errors
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object
from apiserver.meta.times import age

GROUP = "flowcontrol.apiserver.k8s.io"
_SPEC = FieldPath("spec")
_DISTINGUISHERS = ["ByNamespace", "ByUser"]
_NAMESPACES = "each member of this list must be '*' or a DNS-1123 label"
_MEMBER = {"User": "user", "Group": "group", "ServiceAccount": "serviceAccount"}
_VERBS = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
]


@register(GROUP, "FlowSchema")
class FlowSchema(FlowControlKind):
    @staticmethod
    def row_order(obj: Object) -> tuple[int, str]:
        """As requests try them."""
        return (obj.get("spec") or {}).get("matchingPrecedence", 0), obj["metadata"]["name"]

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("matchingPrecedence"):
            spec["matchingPrecedence"] = 1000
        obj.setdefault("status", {})

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return [*_errors(obj), *mandatory_errors("flowschemas", obj)]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        conditions = (obj.get("status") or {}).get("conditions") or []
        dangling = next(
            (x.get("status", "") for x in conditions if x.get("type") == "Dangling"), "?"
        )
        return [
            metadata["name"],
            (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
            spec.get("matchingPrecedence", 0),
            (spec.get("distinguisherMethod") or {}).get("type") or "<none>",
            age(metadata.get("creationTimestamp"), now),
            dangling,
        ]


def _errors(obj: Object) -> c.Errors:
    spec, name = obj.get("spec") or {}, obj["metadata"].get("name", "")
    precedence, path = spec.get("matchingPrecedence", 0), _SPEC.child("matchingPrecedence")
    if precedence <= 0:
        yield invalid(path, precedence, "must be a positive value")
    if precedence > 10000:
        yield invalid(path, precedence, "must not be greater than 10000")
    if precedence == 1 and name != "exempt":
        yield invalid(
            path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"
        )
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _DISTINGUISHERS:
        yield not_supported(
            _SPEC.child("distinguisherMethod", "type"),
            quote("flowcontrol.v1.FlowDistinguisherMethod", method),
            _DISTINGUISHERS,
        )
    level = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    path = _SPEC.child("priorityLevelConfiguration", "name")
    if not level:
        yield required(path, "must reference a priority level")
    else:
        yield from c.dns_subdomain(level, path)
    for i, rule in enumerate(spec.get("rules") or []):
        yield from _rule(rule, _SPEC.child("rules").at(i))


def _rule(rule: Object, path: FieldPath) -> c.Errors:
    subjects = rule.get("subjects") or []
    if not subjects:
        yield required(path.child("subjects"), "subjects must contain at least one value")
    for i, subject in enumerate(subjects):
        yield from _subject(subject, path.child("subjects").at(i))
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        yield required(
            path, "at least one of resourceRules and nonResourceRules has to be non-empty"
        )
    for i, entry in enumerate(rule.get("resourceRules") or []):
        yield from _resource_rule(entry, path.child("resourceRules").at(i))
    for i, entry in enumerate(rule.get("nonResourceRules") or []):
        yield from _url_rule(entry, path.child("nonResourceRules").at(i))


def _subject(subject: Object, path: FieldPath) -> c.Errors:
    kind = subject.get("kind", "")
    if kind not in _MEMBER:
        yield not_supported(path.child("kind"), kind, sorted(_MEMBER))
        return
    for other, member in _MEMBER.items():
        if other != kind and subject.get(member) is not None:
            yield forbidden(
                path.child(member), f"{member} is forbidden when subject kind is not '{other}'"
            )
    member = _MEMBER[kind]
    value, at = subject.get(member), path.child(member)
    if value is None:
        yield required(at, f"{member} is required when subject kind is '{kind}'")
        return
    if not value.get("name"):
        yield required(at.child("name"))
    if kind == "ServiceAccount":
        yield from _service_account(value, at)


def _service_account(value: Object, path: FieldPath) -> c.Errors:
    name, namespace = value.get("name", ""), value.get("namespace", "")
    if name and name != "*":
        yield from c.dns_subdomain(name, path.child("name"))
    if not namespace:
        yield required(path.child("namespace"), "must specify namespace for service account")
    else:
        yield from c.dns_label(namespace, path.child("namespace"))


def _listed(values: list[str], path: FieldPath, missing: str, wildcard: str) -> c.Errors:
    if not values:
        yield required(path, missing)
    elif len(values) > 1 and "*" in values:
        yield invalid(path, values, wildcard)


def _verbs(values: list[str], path: FieldPath) -> c.Errors:
    alone = "if '*' is present, must not specify other verbs"
    yield from _listed(values, path, "verbs must contain at least one value", alone)
    if "*" not in values and not set(values) <= set(_VERBS):
        yield not_supported(path, values, _VERBS)


def _resource_rule(rule: Object, path: FieldPath) -> c.Errors:
    yield from _verbs(rule.get("verbs") or [], path.child("verbs"))
    what = "resource rules must supply at least one api group"
    yield from _listed(
        rule.get("apiGroups") or [],
        path.child("apiGroups"),
        what,
        "if '*' is present, must not specify other api groups",
    )
    what = "resource rules must supply at least one resource"
    yield from _listed(
        rule.get("resources") or [],
        path.child("resources"),
        what,
        "if '*' is present, must not specify other resources",
    )
    namespaces = rule.get("namespaces") or []
    if not namespaces and not rule.get("clusterScope"):
        yield required(
            path.child("namespaces"),
            "resource rules that are not cluster scoped must supply at least one namespace",
        )
    elif len(namespaces) > 1 and "*" in namespaces:
        yield invalid(
            path.child("namespaces"),
            namespaces,
            "if '*' is present, must not specify other namespaces",
        )
    for i, namespace in enumerate(namespaces if "*" not in namespaces else ()):
        for why in names.dns1123_label(namespace):
            yield invalid(path.child("namespaces").at(i), namespace, f"{_NAMESPACES}; {why}")


def _url_rule(rule: Object, path: FieldPath) -> c.Errors:
    yield from _verbs(rule.get("verbs") or [], path.child("verbs"))
    urls, at = rule.get("nonResourceURLs") or [], path.child("nonResourceURLs")
    what = "nonResourceURLs must contain at least one value"
    yield from _listed(
        urls, at, what, "if '*' is present, must not specify other non-resource URLs"
    )
    for i, url in enumerate(urls if "*" not in urls else ()):
        why = _url_problem(url)
        if why:
            yield invalid(at.at(i), url, why)


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if "*" in url and (url.count("*") > 1 or not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""
