"""Which FlowSchema a request belongs to (k8s.io/apiserver ``util/flowcontrol/rule.go``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apiserver.meta.objects import Object
from apiserver.request import RequestInfo
from apiserver.user import User

_SERVICE_ACCOUNT = "system:serviceaccount:"


class Schema(NamedTuple):
    """spec: of the object."""

    name: str
    uid: str
    spec: Object

    @classmethod
    def of(cls, obj: Object) -> Schema:
        metadata = obj["metadata"]
        return cls(metadata["name"], metadata.get("uid", ""), obj.get("spec") or {})

    @property
    def order(self) -> tuple[int, str]:
        return self.spec.get("matchingPrecedence", 0), self.name

    @property
    def level(self) -> str:
        reference = self.spec.get("priorityLevelConfiguration") or {}
        return str(reference.get("name") or "")

    def distinguisher(self, info: RequestInfo, user: User) -> str:
        """What tells the flows of this schema apart."""
        match (self.spec.get("distinguisherMethod") or {}).get("type"):
            case "ByUser":
                return user.name
            case "ByNamespace":
                return info.namespace
        return ""

    def matches(self, info: RequestInfo, user: User) -> bool:
        for rule in self.spec.get("rules") or ():
            if not any(_is_subject(user, s) for s in rule.get("subjects") or ()):
                continue
            if info.is_resource:
                if any(_means_resource(info, r) for r in rule.get("resourceRules") or ()):
                    return True
            elif any(_means_path(info, r) for r in rule.get("nonResourceRules") or ()):
                return True
        return False


def _is_subject(user: User, subject: Object) -> bool:
    kind = subject.get("kind")
    if kind == "User":
        named = subject.get("user")
        return named is not None and named.get("name") in ("*", user.name)
    if kind == "Group":
        named = subject.get("group")
        return named is not None and (named.get("name") == "*" or named.get("name") in user.groups)
    account = subject.get("serviceAccount") if kind == "ServiceAccount" else None
    if account is None:
        return False
    prefix = f"{_SERVICE_ACCOUNT}{account.get('namespace', '')}:"
    if account.get("name") == "*":
        return user.name.startswith(prefix)
    return user.name == prefix + str(account.get("name", ""))


def _holds(values: Sequence[str] | None, value: str) -> bool:
    """Whether the value is among them, or ``*`` is the only one."""
    return values is not None and (value in values or list(values) == ["*"])


def _means_resource(info: RequestInfo, rule: Object) -> bool:
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if not (
        _holds(rule.get("verbs"), info.verb)
        and _holds(rule.get("resources"), resource)
        and _holds(rule.get("apiGroups"), info.group)
    ):
        return False
    if not info.namespace:
        return bool(rule.get("clusterScope"))
    return _holds(rule.get("namespaces"), info.namespace)


def _means_path(info: RequestInfo, rule: Object) -> bool:
    if not _holds(rule.get("verbs"), info.verb):
        return False
    for url in rule.get("nonResourceURLs") or ():
        if url in ("*", info.path):
            return True
        prefix = url.removesuffix("*")
        if info.path.startswith(prefix if prefix.endswith("/") else prefix + "/"):
            return True
    return False
