"""Which policies requests of one shape are meant by, found once for all of them.

Operation, resource, subresource and the labels of the namespace decide for most policies and
bindings. What they decide is kept by that shape, so that a policy that does not mean a request
costs it nothing. Those that choose objects by name or label are asked for each request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeVar

from admission.attributes import Attributes, Equivalent, Lookup, Operation
from admission.policy.hooks import Binding, Hook, HookList
from admission.rules import Criteria, namespace_labels, namespace_of
from apiserver.effort import spend
from apiserver.errors import NotFound
from apiserver.meta.gvk import GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object

_MATCH: Final = 50
"""Steps (`apiserver.effort`) for one look at the rules of a policy or a binding."""
_MANY: Final = 64
"""So many such looks are done at once; more of them through `Lookup.run`, which minds the time."""
KEPT: Final = 20_000
"""Policies, bindings and labels that are kept by shape, of one tenant and one kind of policies."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Invocation:
    """One evaluation of a policy. matched: the resource and kind by which its rules mean the
    request's objects."""

    hook: Hook
    binding: Binding
    matched: Equivalent
    param: Object | None


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A policy that may mean requests of a shape. matched: as in `Invocation`; None where the rules
    cannot be read, or the object decides. by_object, by_namespace: whether the object, or the
    namespace, has still to be looked at. bindings: each with its criteria where these have still to
    be asked, else None. steps: the evaluations, where nothing has still to be asked."""

    hook: Hook
    matched: Equivalent | None
    bindings: Sequence[tuple[Binding, Criteria | str | None]]
    by_object: bool = False
    by_namespace: bool = False
    steps: Sequence[Invocation] | None = None


class _Shape(NamedTuple):
    """inside: whether it is about something in a namespace; labels: of `namespace_labels`, None
    also where they decide nothing; namespace_exists: False where it is in one that is not there."""

    operation: Operation
    kind: GroupVersionKind
    resource: GroupVersionResource
    subresource: str
    inside: bool
    equivalents: tuple[Equivalent, ...]
    labels: tuple[tuple[str, str], ...] | None
    namespace_exists: bool


class Equivalents:
    """`Lookup.equivalents` of one request, looked up once, for rules that are read in a thread."""

    def __init__(self, attributes: Attributes, lookup: Lookup) -> None:
        self.all = tuple(lookup.equivalents(attributes.resource, attributes.subresource))

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        return self.all


async def candidates(
    hooks: HookList, attributes: Attributes, lookup: Lookup
) -> Sequence[Candidate]:
    """All that may mean the request, in order. Raises StorageError."""
    look = _Look(attributes, Equivalents(attributes, lookup))
    if hooks.by_namespace:
        try:
            look.labels = await namespace_labels(attributes, lookup)
        except NotFound:
            look.namespace_exists = False
    shape = look.shape()
    of_shape: Sequence[Candidate] | None = hooks.memo.get(shape)
    if of_shape is None:
        of_shape = await _run(hooks.criteria, lambda: look.at(hooks), lookup)
        _keep(hooks, shape, of_shape)
    open_ = sum(candidate.by_object for candidate in of_shape)
    if not open_:
        return of_shape
    return await _run(open_, lambda: look.at_object(of_shape), lookup)


def _keep(hooks: HookList, shape: _Shape, candidates: Sequence[Candidate]) -> None:
    """A shape weighs as much as there are policies and bindings, though few may have been found for
    it, and its labels beside them. When all weigh more than `KEPT`, the others are dropped."""
    weight = hooks.criteria + len(shape.labels or ())
    if hooks.kept + weight > KEPT:
        hooks.memo.clear()
        hooks.kept = 0
    if weight <= KEPT:
        hooks.memo[shape] = candidates
        hooks.kept += weight


async def _run(count: int, work: Callable[[], T], lookup: Lookup) -> T:
    return work() if count <= _MANY else await lookup.run(work)


@dataclass(slots=True)
class _Look:
    """At policies, for requests of the shape that this one has."""

    attributes: Attributes
    equivalents: Equivalents
    labels: Mapping[str, str] | None = None
    namespace_exists: bool = True

    def shape(self) -> _Shape:
        attributes = self.attributes
        return _Shape(
            attributes.operation,
            attributes.kind,
            attributes.resource,
            attributes.subresource,
            bool(namespace_of(attributes)),
            self.equivalents.all,
            None if self.labels is None else tuple(self.labels.items()),
            self.namespace_exists,
        )

    def at(self, hooks: Sequence[Hook]) -> Sequence[Candidate]:
        candidates = (self._candidate(hook) for hook in hooks)
        return [candidate for candidate in candidates if candidate is not None]

    def at_object(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Those of them that the request's own object fits."""
        fitting = []
        for candidate in candidates:
            if candidate.by_object:
                assert isinstance(candidate.hook.criteria, Criteria), "what cannot be read is asked"
                matched = self._matched(candidate.hook.criteria)
                if matched is None:
                    continue
                candidate = replace(candidate, matched=matched, by_object=False)
            fitting.append(candidate)
        return fitting

    def _candidate(self, hook: Hook) -> Candidate | None:
        criteria = hook.criteria
        bindings = list(self._bindings(hook))
        if isinstance(criteria, str):
            return Candidate(hook, None, bindings)
        by_namespace = self._lacks_namespace(criteria)
        if criteria.by_object:
            return Candidate(hook, None, bindings, by_object=True, by_namespace=by_namespace)
        matched = self._matched(criteria)
        if matched is None:
            return None
        if by_namespace or hook.params is not None:
            return Candidate(hook, matched, bindings, by_namespace=by_namespace)
        if not bindings:
            return None
        if matched.kind != self.attributes.kind or any(c is not None for _, c in bindings):
            return Candidate(hook, matched, bindings)
        steps = [Invocation(hook, binding, matched, None) for binding, _ in bindings]
        return Candidate(hook, matched, bindings, steps=steps)

    def _bindings(self, hook: Hook) -> Iterator[tuple[Binding, Criteria | str | None]]:
        for binding in hook.bindings:
            criteria = binding.criteria
            if criteria is None:
                yield binding, None
            elif isinstance(criteria, str) or criteria.by_object or self._lacks_namespace(criteria):
                yield binding, criteria
            elif self._matched(criteria) is not None:
                yield binding, None

    def _lacks_namespace(self, criteria: Criteria) -> bool:
        return not self.namespace_exists and not criteria.namespaces.empty

    def _matched(self, criteria: Criteria) -> Equivalent | None:
        spend(_MATCH)
        matched = criteria.fits(self.attributes, self.equivalents)
        if matched is None or self._lacks_namespace(criteria):
            return matched
        return matched if criteria.selects_labels(self.labels) else None
