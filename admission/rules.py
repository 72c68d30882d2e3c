"""Whether a request is one that an admission policy, its binding or an admission webhook is about.

`Criteria` holds what such an object says about that, read once; `Criteria.match` answers with the
`Equivalent` that a rule names - the resource and kind in whose version the policy or webhook wants
to see the objects - or None. For a caller:

    criteria = Criteria.of_policy(spec["matchConstraints"])      # or of_webhook(webhook)
    matched = await criteria.match(attributes, lookup)           # None: not meant
    obj = await lookup.convert(attributes.object, matched.kind)  # where matched.kind differs

Sources: k8s.io/apiserver ``admission/plugin/webhook/predicates/{namespace,object,rules}``,
``webhook/generic/webhook.go`` ShouldCallHook and ``policy/matching/matching.go``, which say the
same. What is cheap is asked first: only the answer's errors depend on the order, and those of a
namespace count only where all else matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from admission.attributes import Attributes, Equivalent, Lookup
from apiserver.errors import NotFound
from apiserver.meta.gvk import GroupResource, GroupVersionResource
from apiserver.meta.labels import LabelSelector, selector_from_object
from apiserver.meta.objects import Object

GROUP = "admissionregistration.k8s.io"
NAMESPACES = GroupResource("", "namespaces")
_NAMESPACES_V1 = GroupVersionResource("", "v1", "namespaces")
CONFIGURATION = frozenset(
    {
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }
)
"""Kinds that no webhook sees: who locked themselves out must be able to repair that."""


def is_configuration(attributes: Attributes) -> bool:
    """Whether the request is about webhooks or policies themselves
    (IsExemptAdmissionConfigurationResource)."""
    return attributes.kind.group == GROUP and attributes.kind.kind in CONFIGURATION


def namespace_of(attributes: Attributes) -> str:
    """The request's namespace as upstream's attributes have it: a namespace lies in itself."""
    if attributes.resource == _NAMESPACES_V1:
        return attributes.name or _name(attributes.object)
    return attributes.namespace


def _name(obj: Object | None) -> str:
    name: str = ((obj or {}).get("metadata") or {}).get("name", "")
    return name


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. resources: (resource, subresource), "*" for all of either; scope: "*", "Cluster" or
    "Namespaced"; names: of objects, none: all."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str
    names: frozenset[str]

    @classmethod
    def of(cls, rule: Object) -> Rule:
        """``rule``: a RuleWithOperations, with or without resourceNames."""
        return cls(
            frozenset(rule.get("operations") or ()),
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("apiVersions") or ()),
            tuple(
                (resource, subresource)
                for resource, _, subresource in (
                    text.partition("/") for text in rule.get("resources") or ()
                )
            ),
            rule.get("scope") or "*",
            frozenset(rule.get("resourceNames") or ()),
        )

    def matches(self, attributes: Attributes, resource: GroupVersionResource) -> bool:
        """``resource``: the request's own, or an equivalent one. Names are asked separately: a
        generated name is not there yet, and matches no list."""
        return (
            _any(self.operations, attributes.operation)
            and _any(self.groups, resource.group)
            and _any(self.versions, resource.version)
            and self._has(resource.resource, attributes.subresource)
            and self._in_scope(attributes, resource)
            and (not self.names or attributes.name in self.names)
        )

    def _has(self, resource: str, subresource: str) -> bool:
        return any(
            ours in ("*", resource) and sub in ("*", subresource) for ours, sub in self.resources
        )

    def _in_scope(self, attributes: Attributes, resource: GroupVersionResource) -> bool:
        if self.scope == "*":
            return True
        cluster = resource == _NAMESPACES_V1 or not namespace_of(attributes)
        return cluster if self.scope == "Cluster" else self.scope == "Namespaced" and not cluster


def _any(values: frozenset[str], value: str) -> bool:
    return value in values or "*" in values


class Versions(Protocol):
    """The part of a Lookup that rules need."""

    def equivalents(
        self, resource: GroupVersionResource, subresource: str
    ) -> Sequence[Equivalent]: ...


def find_rule(
    rules: Sequence[Rule], attributes: Attributes, versions: Versions, *, equivalent: bool
) -> Equivalent | None:
    """What the first rule that matches is about: the resource and kind of the request where one
    names them, else, for matchPolicy Equivalent, those of another version of the same objects."""
    resource = attributes.resource
    if any(rule.matches(attributes, resource) for rule in rules):
        return Equivalent(resource, attributes.kind)
    if not equivalent or not rules:
        return None
    others = versions.equivalents(resource, attributes.subresource)
    for rule in rules:
        for other in others:
            if other.resource != resource and rule.matches(attributes, other.resource):
                return other
    return None


@dataclass(frozen=True, slots=True)
class Criteria:
    """rules: None for a binding that has none, which match all; equivalent: whether matchPolicy is
    Equivalent; by_object: whether names or labels of objects decide, too."""

    rules: tuple[Rule, ...] | None
    excluded: tuple[Rule, ...]
    equivalent: bool
    namespaces: LabelSelector
    objects: LabelSelector
    by_object: bool

    @classmethod
    def of_policy(cls, match: Object) -> Criteria:
        """``match``: MatchResources of a policy or a binding. Raises LabelSelectorError."""
        rules = tuple(map(Rule.of, match.get("resourceRules") or ()))
        excluded = tuple(map(Rule.of, match.get("excludeResourceRules") or ()))
        return cls._of(match, rules or None, excluded)

    @classmethod
    def of_webhook(cls, webhook: Object) -> Criteria:
        """Raises LabelSelectorError."""
        return cls._of(webhook, tuple(map(Rule.of, webhook.get("rules") or ())), ())

    @classmethod
    def _of(
        cls, match: Object, rules: tuple[Rule, ...] | None, excluded: tuple[Rule, ...]
    ) -> Criteria:
        objects = selector_from_object(match.get("objectSelector"))
        return cls(
            rules,
            excluded,
            match.get("matchPolicy") == "Equivalent",
            selector_from_object(match.get("namespaceSelector")),
            objects,
            not objects.empty or any(rule.names for rule in (*(rules or ()), *excluded)),
        )

    async def match(self, attributes: Attributes, lookup: Lookup) -> Equivalent | None:
        """None where the request is not meant. Raises NotFound where its namespace is asked for and
        is not there."""
        matched = self.fits(attributes, lookup)
        if matched is None:
            return None
        return matched if await self.selects_namespace(attributes, lookup) else None

    def fits(self, attributes: Attributes, versions: Versions) -> Equivalent | None:
        """As `match`, whatever the namespace is."""
        matched = self._by_rules(attributes, versions)
        return matched if matched is not None and self.selects_object(attributes) else None

    def _by_rules(self, attributes: Attributes, versions: Versions) -> Equivalent | None:
        if self.rules is None:
            matched: Equivalent | None = Equivalent(attributes.resource, attributes.kind)
        else:
            matched = find_rule(self.rules, attributes, versions, equivalent=self.equivalent)
        if matched is None or not self.excluded:
            return matched
        excluded = find_rule(self.excluded, attributes, versions, equivalent=self.equivalent)
        return matched if excluded is None else None

    def selects_object(self, attributes: Attributes) -> bool:
        """The object or the one that it replaces: neither enters nor leaves unseen."""
        if self.objects.empty:
            return True
        return any(
            obj is not None and self.objects.matches(labels_of(obj))
            for obj in (attributes.object, attributes.old)
        )

    async def selects_namespace(self, attributes: Attributes, lookup: Lookup) -> bool:
        """The rest of `match` for a request that `fits`. Raises NotFound."""
        if self.namespaces.empty:
            return True
        return self.selects_labels(await namespace_labels(attributes, lookup))

    def selects_labels(self, labels: Mapping[str, str] | None) -> bool:
        """``labels``: of `namespace_labels`."""
        return labels is None or self.namespaces.matches(labels)


async def namespace_labels(attributes: Attributes, lookup: Lookup) -> Mapping[str, str] | None:
    """What namespace selectors look at; None outside of namespaces, where they exempt nothing. A
    namespace that is written is judged by what it is going to be, one that is deleted by what it
    is. Raises NotFound."""
    name = namespace_of(attributes)
    if attributes.resource.resource != "namespaces":
        if not name:
            return None
    elif not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
        return labels_of(attributes.object or {})
    return labels_of(await find_namespace(lookup, name))


async def find_namespace(lookup: Lookup, name: str) -> Object:
    """Raises NotFound; a cache that does not know it may lag, so then the database is asked."""
    namespace = await lookup.get(NAMESPACES, "", name)
    if namespace is None:
        namespace = await lookup.get(NAMESPACES, "", name, fresh=True)
    if namespace is None:
        raise NotFound(NAMESPACES, name)
    return namespace


def labels_of(obj: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = (obj.get("metadata") or {}).get("labels") or {}
    return labels
