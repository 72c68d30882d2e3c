"""The status of ValidatingAdmissionPolicies: what type checking finds in their expressions
(kubernetes ``pkg/controller/validatingadmissionpolicystatus``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from apiserver.cel.kubernetes.typecheck import Subject, Typed, check
from apiserver.controllers.actions import Actions
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource, GroupVersion
from apiserver.meta.objects import Object
from apiserver.registry.offload import Asker, beside
from apiserver.registry.scope import Tenant
from apiserver.schema.types import Schema
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.relations import Relations

POLICIES = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicies")
SETTLE = 1.0
"""Seconds from a change to the look at it."""
MANAGER = "validatingadmissionpolicy-status"
_MOST_TYPES = 10


class PolicyStatus:
    """Looks at policies by their name."""

    controller = "validatingadmissionpolicy-status-controller"
    resources = frozenset({POLICIES})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._relations = actions, relations

    def concerned(self, event: Event) -> tuple[str, float] | None:
        if event.type == "DELETED" or _observed(orjson.loads(event.record.data)):
            return None
        return event.record.key.name, SETTLE

    async def look(self, tenant: Tenant, name: str) -> float | None:
        key = ObjectKey(*POLICIES, "", name)
        policy = await self._actions.get(tenant, key)
        if policy is None or _observed(policy):
            return None
        resources = self._actions.resources(tenant)
        size = len(orjson.dumps(policy["spec"]))
        spec = policy["spec"]
        warnings = await beside(Asker(tenant, size), lambda: check(spec, _subject(spec, resources)))
        status: Object = {
            "observedGeneration": policy["metadata"]["generation"],
            "typeChecking": {"expressionWarnings": warnings} if warnings else {},
        }
        await self._actions.apply_status(tenant, key, status, MANAGER)
        return None

    async def missed(self, tenant: int) -> Sequence[str]:
        return await self._relations.unobserved(tenant, POLICIES)


def _observed(policy: Object) -> bool:
    observed = (policy.get("status") or {}).get("observedGeneration") or 0
    return bool(observed >= policy["metadata"].get("generation", 0))


# --- types ----------------------------------------------------------------------------------------
def _subject(spec: Object, resources: Sequence[Resource]) -> Subject:
    rules = (spec.get("matchConstraints") or {}).get("resourceRules") or ()
    kinds = {t.kind: t for t in _types(rules, resources)}
    types = [kinds[kind] for kind in sorted(kinds)]
    params = spec.get("paramKind")
    if params is None:
        return Subject(types)
    return Subject(types, True, _schema_of(params, resources))


def _types(rules: Iterable[Object], resources: Sequence[Resource]) -> Iterator[Typed]:
    """Of rules without wildcards; ten at most, as soon as one rule has so many."""
    for rule in rules:
        groups, versions = (rule.get(n) or () for n in ("apiGroups", "apiVersions"))
        if any("*" in name for name in (*groups, *versions)):
            continue
        plurals = [r for r in rule.get("resources") or () if not set(r) & set("*/")]
        count = 0
        for group in sorted(groups):
            for version in sorted(versions):
                for plural in sorted(plurals):
                    for typed in _named(group, version, plural, resources):
                        yield typed
                        count += 1
                        if count == _MOST_TYPES:
                            return


def _named(group: str, version: str, plural: str, resources: Sequence[Resource]) -> Iterator[Typed]:
    """Upstream's RESTMapper takes no group for any group, a singular for its plural, and letters of
    both cases, whatever admission makes of such a rule."""
    for resource in resources:
        served = resource.versions.get(version)
        if (
            served is not None
            and served.served
            and plural.lower() in (resource.resource, resource.singular)
            and group in ("", resource.group)
        ):
            yield Typed(resource.gvk(version), served.schema)


def _schema_of(kind: Any, resources: Sequence[Resource]) -> Schema | None:
    version = GroupVersion.parse(kind.get("apiVersion", ""))
    for resource in resources:
        served = resource.versions.get(version.version)
        if served is not None and (resource.group, resource.kind) == (
            version.group,
            kind.get("kind"),
        ):
            return served.schema
    return None
