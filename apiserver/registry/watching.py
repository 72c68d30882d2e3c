"""Watch: from request options to a subscription that knows where to begin.

The table of "Resource versions" for watch: unset is "get state and start at most recent", "0" any
state, another value exactly after that version; sendInitialEvents asks for the state first whatever
the version, which is then a lower bound; sendInitialEvents=false asks for none of it, so that what
would be the state is where changes begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.errors import PlainError
from apiserver.registry import questions
from apiserver.registry.core import Registry
from apiserver.registry.indexes import choosers
from apiserver.registry.options import ListOptions
from apiserver.registry.reading import parse_version
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection
from apiserver.registry.sifting import Chooser, Events, FilteredEvents
from apiserver.registry.translate import storage_errors
from apiserver.registry.versions import Conversions
from apiserver.storage.errors import Compacted, TooLarge
from apiserver.watch.entry import Fields, Labels, Predicate
from apiserver.watch.subscription import Subscription

_EVERYTHING = ("", "", "")


@dataclass(slots=True)
class Watching:
    """initial_bookmark: the initial events are to be ended by one; not_before: a version that it
    must not be older than; events: what they have to go through first."""

    subscription: Subscription
    initial_bookmark: bool
    bookmarks: bool
    not_before: int
    events: Events | None = None


async def watch(
    registry: Registry, scope: Scope, options: ListOptions, selection: Selection
) -> Watching:
    """Raises Invalid for options that do not go together and for a filter that does not fit the
    schema, PlainError for a version that is no number, Compacted, and TooLarge for a state of the
    future."""
    options.validate()
    options.check_unasked("watch")
    asked = await questions.parse(scope, options) if options.filter else None
    rv, version = options.resource_version, _version(options)
    initial = bool(options.send_initial_events)
    stateful = initial or (
        options.watch and options.send_initial_events is None and rv in ("", "0")
    )
    predicate, selector = (None if selection.everything else selection.matches), selection.key
    events = _events(registry, scope, predicate, choosers(selection, asked))
    if scope.resource.webhook is not None:
        predicate, selector = None, _EVERYTHING
    with storage_errors(scope, requested=version, passing=(Compacted, TooLarge)):
        after = version if rv else None
        if options.send_initial_events is False and not version:
            known = await registry.watches.fresh(scope.tenant.id, scope.resource.storage)
            after = known.resource_version
        subscription = await registry.watches.subscribe(
            scope.tenant.id,
            scope.resource.storage,
            after=after,
            initial=initial,
            namespace=scope.namespace,
            name=scope.name or selection.name,
            predicate=predicate,
            selector=selector,
        )
    return Watching(
        subscription,
        stateful and options.allow_watch_bookmarks,
        options.allow_watch_bookmarks,
        version,
        events,
    )


def _version(options: ListOptions) -> int:
    """0 for none."""
    if not options.resource_version:
        return 0
    try:
        return parse_version(options.resource_version)
    except ValueError as e:
        raise PlainError(str(e)) from None


def _events(
    registry: Registry, scope: Scope, predicate: Predicate | None, lookers: Sequence[Chooser]
) -> Events | None:
    """What events go through behind the subscription."""
    events: Events | None = None
    if scope.resource.webhook is not None:
        # a filter looks at what was before, too, which selectors alone have converted
        events = Conversions(registry, scope, predicate or _any if lookers else predicate)
    return FilteredEvents(registry, scope, lookers, events) if lookers else events


def _any(labels: Labels, fields: Fields) -> bool:
    return True
