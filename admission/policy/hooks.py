"""The policies of a tenant that have bindings, read from its watch caches.

What is read is kept until an object of the two resources changes: a cache then gives another
sequence, and of that only what changed is read again. A tenant without bindings costs a request one
look.

A change counts `SETTLING` seconds after it came to a worker, since kube-apiserver reads policies
anew once a second (``policy/generic/policy_source.go``): manifests that bring a policy, its
bindings, its parameters and objects that it means can be applied there in one go, and so they can
here. A worker that has not known the tenant until now obeys what is there at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from admission.attributes import Lookup
from admission.policy.compiled import Compiled, Library, digest_of
from admission.rules import GROUP, Criteria
from apiserver.effort import spend
from apiserver.meta.gvk import GroupResource, GroupVersion, GroupVersionKind
from apiserver.meta.labels import LabelSelectorError
from apiserver.meta.objects import Object

SETTLING: Final = 0.8
_READ = 500
"""Steps (`apiserver.effort`) for reading one policy or binding."""


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """object: as stored; criteria: None where it narrows nothing, a text where it cannot be
    read."""

    object: Object
    name: str
    policy: str
    criteria: Criteria | str | None

    @property
    def spec(self) -> Object:
        spec: Object = self.object["spec"]
        return spec


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """A policy with its bindings, which are in the order of their names. fails_open: whether
    failurePolicy is Ignore; params: its paramKind; criteria: which requests it means, or the reason
    why they cannot be read."""

    object: Object
    name: str
    digest: bytes
    fails_open: bool
    params: GroupVersionKind | None
    criteria: Criteria | str
    bindings: Sequence[Binding]

    @property
    def spec(self) -> Object:
        spec: Object = self.object["spec"]
        return spec


class HookList(tuple[Hook, ...]):
    """A tenant's policies in the order of their names. kept: the size of what is in `memo`, counted
    by those who put it there."""

    kept: int = 0

    @cached_property
    def criteria(self) -> int:
        """How many policies and bindings say which requests they mean."""
        return len(self) + sum(len(hook.bindings) for hook in self)

    @cached_property
    def by_namespace(self) -> bool:
        """Whether labels of namespaces decide anything."""
        return any(
            isinstance(criteria, Criteria) and not criteria.namespaces.empty
            for hook in self
            for criteria in (hook.criteria, *(binding.criteria for binding in hook.bindings))
        )

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """For what others derive from these policies: it goes with the list, which is made anew
        when a policy or binding changes."""
        return {}


_NONE: Final = HookList()


@dataclass(slots=True)
class _State:
    """policies, bindings: what the hooks were read from."""

    policies: Sequence[Object] = ()
    bindings: Sequence[Object] = ()
    hooks: HookList = _NONE
    read_bindings: dict[str, Binding] = field(default_factory=dict)


class Hooks:
    """The policies of one kind, validating or mutating, of all tenants in use. library: keeps the
    compiled expressions."""

    def __init__(self, kind: str, library: Library) -> None:
        self._policies = GroupResource(GROUP, f"{kind}admissionpolicies")
        self._bindings = GroupResource(GROUP, f"{kind}admissionpolicybindings")
        self._library = library
        self._tenants: dict[int, _State] = {}

    def compiled(self, hook: Hook) -> Compiled:
        return self._library.get(hook.digest, hook.spec)

    async def of(self, tenant: int, lookup: Lookup) -> HookList:
        """The tenant's policies that are in force now. Raises StorageError."""
        bindings = await lookup.settled(self._bindings, SETTLING)
        if not bindings:
            return _NONE
        policies = await lookup.settled(self._policies, SETTLING)
        state = self._tenants.get(tenant)
        if state is None or state.policies is not policies or state.bindings is not bindings:
            before = state or _State()
            state = await lookup.run(lambda: _read(before, policies, bindings))
            self._tenants[tenant] = state
        return state.hooks

    def forget(self, tenant: int) -> None:
        """The tenant is not in use any more."""
        self._tenants.pop(tenant, None)
        self._library.forget_idle()


def _read(before: _State, policies: Sequence[Object], bindings: Sequence[Object]) -> _State:
    read_bindings = {b.name: b for b in _bindings(before.read_bindings, bindings)}
    by_policy: dict[str, list[Binding]] = defaultdict(list)
    for binding in read_bindings.values():
        by_policy[binding.policy].append(binding)
    hooks_before = {hook.name: hook for hook in before.hooks}
    hooks = []
    for policy in policies:
        name = policy["metadata"]["name"]
        bound = by_policy.get(name)
        if bound is None:
            continue
        old = hooks_before.get(name)
        if old is not None and old.object is policy and old.bindings == bound:
            hooks.append(old)
        else:
            hooks.append(_hook(policy, bound))
    return _State(policies, bindings, HookList(hooks), read_bindings)


def _bindings(before: dict[str, Binding], bindings: Iterable[Object]) -> Iterable[Binding]:
    for obj in bindings:
        name = obj["metadata"]["name"]
        old = before.get(name)
        if old is not None and old.object is obj:
            yield old
        else:
            spend(_READ)
            spec = obj["spec"]
            match = spec.get("matchResources")
            criteria = None if match is None else _criteria(match)
            yield Binding(obj, name, spec.get("policyName", ""), criteria)


def _hook(policy: Object, bindings: Sequence[Binding]) -> Hook:
    spend(_READ)
    spec = policy["spec"]
    kind = spec.get("paramKind")
    params = None
    if kind is not None:
        version = GroupVersion.parse(kind.get("apiVersion", ""))
        params = GroupVersionKind(*version, kind.get("kind", ""))
    return Hook(
        policy,
        policy["metadata"]["name"],
        digest_of(spec),
        spec.get("failurePolicy") == "Ignore",
        params,
        _criteria(spec.get("matchConstraints") or {}),
        bindings,
    )


def _criteria(match: Object) -> Criteria | str:
    try:
        return Criteria.of_policy(match)
    except LabelSelectorError as error:
        return str(error)
