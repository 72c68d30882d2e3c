"""Fields that a tenant has declared as indexed (FieldIndex, `apiserver.kinds.search.fieldindex`):
selectors on them, and which objects of a list an index leaves to be looked at.

Whether an object is selected is always said by the object, as readers of the request's version see
it. The index, which follows the log, only leaves out objects that cannot be: so a list is the same
before the index is made, while it is behind, and without one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from apiserver.errors import BadRequest
from apiserver.kinds.search.fieldindex import INDEXES
from apiserver.meta import fieldpaths
from apiserver.meta.fields import FieldSelector
from apiserver.meta.objects import Object
from apiserver.registry import selection
from apiserver.registry.core import Registry, State
from apiserver.registry.equalities import Equality
from apiserver.registry.options import ListOptions
from apiserver.registry.questions import Question
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection
from apiserver.registry.sifting import Chooser
from apiserver.registry.translate import storage_errors
from apiserver.schema.types import MISSING, Schema
from apiserver.storage.fields import Candidates, Field
from apiserver.storage.interface import key_order

_MOST = 3
"""Indexes that are asked for one list."""

_ADDED = frozenset({"apiVersion", "metadata.resourceVersion"})
"""Paths at which reading puts what no stored object has there: the request's version, and the
object's, which stands beside it."""

T = TypeVar("T")
Place = tuple[str, str]


async def select(registry: Registry, scope: Scope, options: ListOptions) -> Selection:
    """The selectors of a request, with those on declared fields, which are looked for only where
    the kind does not know a field. Raises BadRequest."""
    resource, version = scope.resource, scope.version
    try:
        return selection.parse(resource, version, options)
    except BadRequest:
        declared = await _declared(registry, scope) if options.field_selector else frozenset()
        if not declared:
            raise
    return selection.parse(resource, version, options, declared)


async def _declared(registry: Registry, scope: Scope) -> frozenset[str]:
    """The paths that the tenant has declared for the resource, whoever has served that."""
    with storage_errors(scope):
        cache = await registry.watches.fresh(scope.tenant.id, INDEXES)
    specs = [entry.shared["spec"] for entry in cache.select()]
    wanted = scope.resource.storage
    return frozenset(
        spec["path"] for spec in specs if (spec.get("group", ""), spec["resource"]) == wanted
    )


@dataclass(frozen=True, slots=True)
class FieldsMatch:
    """Objects at whose declared fields the selector's values stand."""

    selector: FieldSelector

    def chosen(self, items: Iterable[T], shown: Callable[[T], Object]) -> Iterator[T]:
        """Those that match, in their order. ``shown``: the object of an item."""
        matches = self.selector.matcher()
        paths = {requirement.field for requirement in self.selector.requirements}
        for item in items:
            obj = shown(item)
            if matches({path: fieldpaths.value_at(obj, path) for path in paths}):
                yield item


def choosers(selection: Selection, question: Question | None) -> list[Chooser]:
    """What looks at whole objects for a list or a watch, beside what `Selection.matches` sees."""
    lookers: list[Chooser] = []
    if not selection.declared.empty:
        lookers.append(FieldsMatch(selection.declared))
    if question is not None and question.filter is not None:
        lookers.append(question.filter)
    return lookers


# --- which objects are looked at ------------------------------------------------------------------
def demanded(scope: Scope, selection: Selection, question: Question) -> list[Equality]:
    """What every selected object has at some path, where what is stored tells that."""
    if not _is_stored_as_shown(scope):
        return []
    equalities = [
        Equality(r.field, (r.value,))
        for r in selection.declared.requirements
        if r.operator == "=" and r.value
    ]
    if question.filter is not None:
        equalities += question.filter.equalities()
    schemas = [served.schema for served in scope.resource.versions.values()]
    told = (e for e in equalities if e.path not in _ADDED)
    return [e for e in told if not any(_has_default(s, e.path) for s in schemas)]


def _is_stored_as_shown(scope: Scope) -> bool:
    resource = scope.resource
    return resource.serves_as_stored(scope.version) or (
        resource.versions_may_go and resource.webhook is None
    )


def _has_default(schema: Schema, path: str) -> bool:
    """Whether reading may fill in something there that is not stored: only custom resources are
    defaulted as they are read (in the version that they are stored in and in the request's), and
    only their schemas have defaults."""
    node: Schema | None = schema
    for name in path.split("."):
        node = ((node.properties or {}).get(name) or node.additional) if node is not None else None
        if node is not None and node.default is not MISSING:
            return True
    return False


async def candidates(
    registry: Registry,
    scope: Scope,
    equalities: Sequence[Equality],
    *,
    at: int,
    after: Place | None,
) -> Candidates | None:
    """The fewest objects behind ``after`` that an index leaves at the version ``at``; None where
    no index can tell."""
    best: Candidates | None = None
    for path, values in equalities[:_MOST]:
        found = await registry.store.fields.candidates(
            scope.tenant.id,
            Field(scope.resource.storage, path),
            [fieldpaths.indexed(value) for value in values],
            namespace=scope.namespace,
            at=at,
            after=after,
        )
        if found is not None and (best is None or _rank(found) < _rank(best)):
            best = found
    return best


def _rank(found: Candidates) -> tuple[bool, int]:
    return found.through is not None, len(found.keys)


def narrowed(states: Sequence[State], found: Candidates) -> list[State]:
    """Of the states, which are in key order, those that are candidates; and all behind the place
    up to which the candidates are told."""
    left: list[State] = []
    at = 0
    for key in sorted(found.keys):
        if found.through is not None and key > found.through:
            break
        at = bisect_left(states, key, lo=at, key=_order)
        if at < len(states) and _order(states[at]) == key:
            left.append(states[at])
    if found.through is not None:
        left += states[bisect_right(states, found.through, key=_order) :]
    return left


def _order(state: State) -> tuple[str, str]:
    return key_order(state.key.namespace, state.key.name)
