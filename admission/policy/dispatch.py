"""Which policies, with which bindings and parameters, a request is meant by, and what their
expressions can see of it (k8s.io/apiserver ``policy/generic/policy_dispatcher.go``,
``plugin/cel/{activation,condition}.go``, ``webhook/matchconditions``)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from admission.attributes import Attributes, Authorize, Equivalent, Lookup
from admission.conditions import condition_errors, request_of
from admission.policy.candidates import Candidate, Invocation, candidates
from admission.policy.compiled import Compiled
from admission.policy.decisions import Decisions
from admission.policy.hooks import Binding, Hook, HookList
from admission.policy.params import MOST, TOO_MANY, ConfigurationError, Params
from admission.rules import NAMESPACES, Criteria, find_namespace, namespace_of
from apiserver.cel.kubernetes.policies import (
    MATCH_CONDITIONS_BUDGET,
    Evaluation,
)
from apiserver.errors import ApiError, TimedOut, TooManyRequests, aggregate
from apiserver.meta.gvk import GroupResource, GroupVersionKind
from apiserver.meta.objects import Object

EXCLUDED: Final = frozenset(
    {
        *(
            GroupResource("admissionregistration.k8s.io", f"{kind}admissionpolic{end}")
            for kind in ("validating", "mutating")
            for end in ("ies", "ybindings")
        ),
        GroupResource("authentication.k8s.io", "selfsubjectreviews"),
        GroupResource("authentication.k8s.io", "tokenreviews"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectrulesreviews"),
        GroupResource("authorization.k8s.io", "subjectaccessreviews"),
    }
)
"""No policy applies to them: policies themselves, and what decides about access
(``policy/generic/plugin.go``, ``kubeapiserver/admission/exclusion``)."""
_TURN = 16
"""Bindings of a policy that are looked at before the event loop serves others."""


@dataclass(frozen=True, slots=True, eq=False)
class Misconfigured:
    """A policy, or one of its bindings, that cannot be evaluated. reason: of the refusal; "": that
    of any refusal."""

    hook: Hook
    binding: Binding | None
    message: str
    reason: str = ""


@dataclass(slots=True)
class Plan:
    """All that a request is meant by, in order, and what evaluations need. versions: the new and
    the old object by their kind in a policy's version."""

    attributes: Attributes
    decisions: Decisions
    steps: list[Invocation | Misconfigured] = field(default_factory=list)
    versions: dict[GroupVersionKind, tuple[Object | None, Object | None]] = field(
        default_factory=dict
    )
    namespace: Object | None = None
    _requests: dict[Equivalent, Object] = field(default_factory=dict)
    _shared: dict[Equivalent, Mapping[str, Any]] = field(default_factory=dict)

    def bindings(
        self, invocation: Invocation, obj: Object | None = None, *, authorizer: bool = True
    ) -> Mapping[str, Any]:
        """Values of all variables, which nobody may change. ``obj``: in the place of the object as
        it was sent."""
        if obj is not None or invocation.param is not None or not authorizer:
            return self._bindings(invocation, obj, authorizer=authorizer)
        shared = self._shared.get(invocation.matched)
        if shared is None:
            shared = self._bindings(invocation, None, authorizer=True)
            self._shared[invocation.matched] = shared
        return shared

    def _bindings(
        self, invocation: Invocation, obj: Object | None, *, authorizer: bool
    ) -> dict[str, Any]:
        new, old = self.versions[invocation.matched.kind]
        values: dict[str, Any] = {
            "object": new if obj is None else obj,
            "oldObject": old,
            "params": invocation.param,
            "request": self._request(invocation.matched),
            "namespaceObject": self.namespace,
        }
        if authorizer:
            values["authorizer"] = self.decisions.authorizer
            values["authorizer.requestResource"] = self.decisions.request_resource
        return values

    def matches(
        self, compiled: Compiled, invocation: Invocation, obj: Object | None = None
    ) -> bool:
        """Whether all match conditions hold. Raises ConditionError where none is false and one
        fails, if the policy does not ignore that."""
        if not compiled.conditions:
            return True
        matched = Equivalent(self.attributes.resource, invocation.matched.kind)
        values = {
            **self.bindings(invocation, obj),
            "request": self._request(matched),
            "namespaceObject": None,
        }
        evaluation = Evaluation(values, compiled.variables, MATCH_CONDITIONS_BUDGET)
        errors = condition_errors(evaluation, compiled.conditions)
        if errors is None or (errors and invocation.hook.fails_open):
            return False
        if errors:
            raise ConditionError(aggregate(errors))
        return True

    def _request(self, matched: Equivalent) -> Object:
        request = self._requests.get(matched)
        if request is None:
            request = self._requests[matched] = request_of(self.attributes, matched)
        return request


class ConditionError(Exception):
    """Match conditions that fail."""


async def plan(
    hooks: HookList, attributes: Attributes, lookup: Lookup, authorize: Authorize
) -> Plan:
    """Raises ApiError, StorageError."""
    planned = Plan(attributes, Decisions(authorize, attributes, lookup))
    planned.versions[attributes.kind] = attributes.object, attributes.old
    params = Params(namespace_of(attributes), lookup)
    for candidate in await candidates(hooks, attributes, lookup):
        steps = candidate.steps
        if steps is not None and len(planned.steps) + len(steps) <= MOST:
            planned.steps += steps
        else:
            await _add(planned, candidate, params, lookup)
    if any(isinstance(step, Invocation) for step in planned.steps):
        name = namespace_of(attributes)
        if name and attributes.group_resource != NAMESPACES:
            planned.namespace = visible(await find_namespace(lookup, name))
    return planned


async def _add(planned: Plan, candidate: Candidate, params: Params, lookup: Lookup) -> None:
    """Asks whatever `candidates` has left open."""
    attributes, hook = planned.attributes, candidate.hook
    matched = candidate.matched
    try:
        if len(planned.steps) >= MOST:
            raise ConfigurationError(TOO_MANY)
        if matched is None or isinstance(hook.criteria, str):
            raise ConfigurationError(str(hook.criteria))
        if candidate.by_namespace and not await hook.criteria.selects_namespace(attributes, lookup):
            return
        served = params.kind(hook)
    except (ApiError, ConfigurationError) as error:
        message = f"failed to configure policy: {_text(error)}"
        planned.steps.append(Misconfigured(hook, None, message))
        return
    for i, (binding, criteria) in enumerate(candidate.bindings, 1):
        if i % _TURN == 0:
            await asyncio.sleep(0)
        try:
            if criteria is not None and await _match(criteria, attributes, lookup) is None:
                continue
            room = MOST - len(planned.steps)
            if room <= 0:
                planned.steps.append(Misconfigured(hook, binding, _binding(TOO_MANY)))
                return
            objects = await params.of(served, binding, room)
        except (TooManyRequests, TimedOut):
            raise
        except (ApiError, ConfigurationError) as error:
            planned.steps.append(Misconfigured(hook, binding, _binding(_text(error))))
            continue
        if objects:
            await _invoke(planned, hook, binding, matched, objects, lookup)


async def _invoke(
    planned: Plan,
    hook: Hook,
    binding: Binding,
    matched: Equivalent,
    params: Sequence[Object | None],
    lookup: Lookup,
) -> None:
    """One step for each parameter, with the objects in the version that the policy knows."""
    try:
        await _convert(planned, matched, lookup)
    except ApiError as error:
        why = f"failed to convert object version: {_text(error)}"
        planned.steps.append(Misconfigured(hook, binding, _binding(why)))
        return
    planned.steps += [Invocation(hook, binding, matched, param) for param in params]


async def _match(
    criteria: Criteria | str, attributes: Attributes, lookup: Lookup
) -> Equivalent | None:
    if isinstance(criteria, str):
        raise ConfigurationError(criteria)
    return await criteria.match(attributes, lookup)


async def _convert(planned: Plan, matched: Equivalent, lookup: Lookup) -> None:
    """The objects as the policy has them, once for all that have the same version."""
    if matched.kind in planned.versions:
        return
    attributes = planned.attributes
    new, old = attributes.object, attributes.old
    if matched.kind != attributes.kind:
        resource = attributes.resource
        new = await lookup.convert(new, resource, matched) if new is not None else None
        old = await lookup.convert(old, resource, matched) if old is not None else None
    planned.versions[matched.kind] = (new, old)


def _binding(why: str) -> str:
    return f"failed to configure binding: {why}"


def _text(error: Exception) -> str:
    return error.message if isinstance(error, ApiError) else str(error)


_METADATA = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


def visible(namespace: Mapping[str, Any]) -> Object:
    """What expressions may see of a namespace (CreateNamespaceObject)."""
    metadata = namespace["metadata"]
    return {
        "metadata": {name: metadata[name] for name in _METADATA if name in metadata},
        "spec": namespace.get("spec") or {},
        "status": namespace.get("status") or {},
    }
