"""audit.k8s.io/v1 Policy: which requests are kept, and how much of them.

The first rule that means a request decides; where none does, nothing is kept. Sources: "Auditing"
in the Kubernetes documentation, k8s.io/apiserver ``audit/policy`` and ``apis/audit/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from apiserver.authz.attributes import Attributes
from apiserver.meta.names import dns1123_subdomain


class Level(IntEnum):
    """How much of a request is kept; each has what those before it have."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


LEVELS = {
    "None": Level.NONE,
    "Metadata": Level.METADATA,
    "Request": Level.REQUEST,
    "RequestResponse": Level.REQUEST_RESPONSE,
}
NAMES = {level: name for name, level in LEVELS.items()}
RECEIVED, STARTED, COMPLETE, PANIC = (
    "RequestReceived",
    "ResponseStarted",
    "ResponseComplete",
    "Panic",
)
STAGES = frozenset({RECEIVED, STARTED, COMPLETE, PANIC})


class PolicyError(ValueError):
    """A policy that is none; its text begins with the place."""


class Verdict(NamedTuple):
    """What is kept of one request. quiet: stages of which nothing is; omit_managed: objects lose
    their managedFields; sample: of how many in a hundred, if it is a read or refused, the entry
    reaches the table, None where the rule does not say."""

    level: Level
    quiet: frozenset[str] = frozenset()
    omit_managed: bool = False
    sample: int | None = None


class Resources(NamedTuple):
    """group "*": any; no names of resources, or of objects: all."""

    group: str
    resources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    def mean(self, asked: Attributes) -> bool:
        if self.group not in ("*", asked.group):
            return False
        if not self.resources:
            return True
        if self.names and asked.name not in self.names:
            return False
        return bool(
            self.resources
            & ({"*", asked.full_resource, f"{asked.resource}/*"} | _any_with(asked.subresource))
        )


def _any_with(subresource: str) -> set[str]:
    return {f"*/{subresource}"} if subresource else set()


@dataclass(frozen=True, slots=True)
class Rule:
    """What is empty does not limit."""

    verdict: Verdict
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    resources: tuple[Resources, ...] = ()
    namespaces: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()

    def means(self, asked: Attributes) -> bool:
        if self.verbs and asked.verb not in self.verbs:
            return False
        if self.users and asked.user.name not in self.users:
            return False
        if self.groups and self.groups.isdisjoint(asked.user.groups):
            return False
        if self.namespaces or self.resources:
            return self._means_resource(asked)
        if self.paths:
            return not asked.is_resource and any(_covers(path, asked.path) for path in self.paths)
        return True

    def _means_resource(self, asked: Attributes) -> bool:
        if not asked.is_resource or (self.namespaces and asked.namespace not in self.namespaces):
            return False
        return not self.resources or any(r.mean(asked) for r in self.resources)


def _covers(spec: str, path: str) -> bool:
    return spec in ("*", path) or (spec.endswith("*") and path.startswith(spec.rstrip("*")))


@dataclass(frozen=True, slots=True)
class Policy:
    """ignored: what the document has and no policy does, each with its place."""

    rules: tuple[Rule, ...]
    ignored: tuple[str, ...] = ()

    def verdict(self, asked: Attributes) -> Verdict:
        """Of a request by ``asked.user``, who it was before impersonation."""
        for rule in self.rules:
            if rule.means(asked):
                return rule.verdict
        return _NOTHING


_NOTHING = Verdict(Level.NONE)

_POLICY = {"apiVersion", "kind", "metadata", "omitStages", "omitManagedFields", "rules"}
_SAMPLE = "samplePercent"
"""Polyplane's own: upstream has no samples."""
_RULE = {
    "level",
    "users",
    "userGroups",
    "verbs",
    "resources",
    "namespaces",
    "nonResourceURLs",
    "omitStages",
    "omitManagedFields",
    _SAMPLE,
}
_RESOURCES = {"group", "resources", "resourceNames"}


def parse(document: Any) -> Policy:
    """From a decoded file; unknown fields do not count (``LoadPolicyFromBytes``). Raises
    PolicyError."""
    ignored: list[str] = []
    members = _members(document, _POLICY, "policy", ignored)
    if members.get("apiVersion") != "audit.k8s.io/v1" or members.get("kind") != "Policy":
        raise PolicyError("policy: it must be an audit.k8s.io/v1 Policy")
    quiet, omit = _stages(members, "policy"), _flag(members, "policy") or False
    rules = _list(members, "rules", "policy")
    if not rules:
        raise PolicyError("policy.rules: there must be at least one rule")
    made = [_rule(each, quiet, omit, f"rules[{at}]", ignored) for at, each in enumerate(rules)]
    return Policy(tuple(made), tuple(ignored))


def _rule(value: Any, quiet: frozenset[str], omit: bool, where: str, ignored: list[str]) -> Rule:
    members = _members(value, _RULE, where, ignored)
    if members.get("level") not in LEVELS:
        raise PolicyError(f"{where}.level: it must be one of {', '.join(LEVELS)}")
    resources = tuple(
        _resources(each, f"{where}.resources[{at}]", ignored)
        for at, each in enumerate(_list(members, "resources", where))
    )
    namespaces, paths = (_texts(members, name, where) for name in ("namespaces", "nonResourceURLs"))
    if paths and (resources or namespaces):
        raise PolicyError(f"{where}.nonResourceURLs: a rule is about resources, or about these")
    for path in paths:
        if path != "*" and (not path.startswith("/") or "*" in path[:-1]):
            raise PolicyError(
                f"{where}.nonResourceURLs: {path!r} must begin with '/', with '*' at its end alone"
            )
    own = _flag(members, where)
    return Rule(
        Verdict(
            LEVELS[members["level"]],
            quiet | _stages(members, where),
            omit if own is None else own,
            _percent(members, where),
        ),
        frozenset(_texts(members, "users", where)),
        frozenset(_texts(members, "userGroups", where)),
        frozenset(_texts(members, "verbs", where)),
        resources,
        frozenset(namespaces),
        paths,
    )


def _resources(value: Any, where: str, ignored: list[str]) -> Resources:
    members = _members(value, _RESOURCES, where, ignored)
    group = members.get("group") or ""
    if group not in ("", "*") and (not isinstance(group, str) or dns1123_subdomain(group)):
        raise PolicyError(f"{where}.group: {group!r} is no API group")
    resources, names = (_texts(members, name, where) for name in ("resources", "resourceNames"))
    if names and not resources:
        raise PolicyError(f"{where}.resourceNames: they need at least one resource")
    return Resources(group, frozenset(resources), frozenset(names))


def _members(value: Any, known: set[str], where: str, ignored: list[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise PolicyError(f"{where}: it must be a mapping")
    ignored += (f"{where}.{name}" for name in sorted(map(str, value.keys() - known)))
    return value


def _list(members: Mapping[str, Any], name: str, where: str) -> list[Any]:
    value = members.get(name)
    if value is not None and not isinstance(value, list):
        raise PolicyError(f"{where}.{name}: it must be a list")
    return value or []


def _texts(members: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    values = _list(members, name, where)
    if not all(isinstance(value, str) for value in values):
        raise PolicyError(f"{where}.{name}: it must be a list of strings")
    return tuple(values)


def _stages(members: Mapping[str, Any], where: str) -> frozenset[str]:
    stages = frozenset(_texts(members, "omitStages", where))
    if unknown := sorted(stages - STAGES):
        raise PolicyError(f"{where}.omitStages: {unknown[0]!r} is no stage")
    return stages


def _flag(members: Mapping[str, Any], where: str) -> bool | None:
    value = members.get("omitManagedFields")
    if value is not None and not isinstance(value, bool):
        raise PolicyError(f"{where}.omitManagedFields: it must be true or false")
    return value


def _percent(members: Mapping[str, Any], where: str) -> int | None:
    value = members.get(_SAMPLE)
    if _SAMPLE in members and (type(value) is not int or not 0 <= value <= 100):
        raise PolicyError(f"{where}.{_SAMPLE}: it must be a whole number from 0 to 100")
    return value


DEFAULT = parse(
    {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": [RECEIVED],
        "omitManagedFields": True,
        "rules": [
            {"level": "None", "verbs": ["get", "list", "watch", "head", "options"]},
            {
                # questions, which change nothing
                "level": "None",
                "resources": [
                    {"group": "authorization.k8s.io"},
                    {"group": "policies.polyplane.dev"},
                    {"group": "authorization.polyplane.dev", "resources": ["grantreviews"]},
                    {"group": "authentication.k8s.io", "resources": ["selfsubjectreviews"]},
                    {"group": "search.polyplane.dev", "resources": ["objectcounts"]},
                ],
            },
            {"level": "Metadata"},
        ],
    }
)
"""What changes something, with its metadata. (Refusals are kept whatever a policy says, see
`apiserver.audit.recorder`.)"""

_SENSITIVE = frozenset(
    {
        ("", "secrets"),
        ("authentication.k8s.io", "tokenreviews"),
        # objects of any kind may stand in these, or parts of them
        ("tenancy.polyplane.dev", "tenanttemplates"),
        ("policies.polyplane.dev", "expressionreviews"),
        ("policies.polyplane.dev", "admissionusereviews"),
    }
)

_PAST = "history.polyplane.dev"
"""Revisions may be of Secrets."""


def is_sensitive(group: str, resource: str, subresource: str) -> bool:
    """Whether bodies hold secrets by their nature: they are kept at no level."""
    return (
        group == _PAST
        or (group, resource) in _SENSITIVE
        or (subresource == "token" and (group, resource) == ("", "serviceaccounts"))
    )
