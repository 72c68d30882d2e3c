"""Get and list: which resourceVersion an answer may have, and where it comes from.

The table of "Resource versions" in the Kubernetes API concepts: unset is Most recent, "0" is Any,
another value is Not older than, Exact when resourceVersionMatch says so (or, for compatibility,
when a limit is given without a match). Recent states come from the watch cache, which a consistent
read first brings up to the tenant's head; past states come from the event log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from apiserver.errors import BadRequest, Expired, NotFound, PlainError
from apiserver.golang.strconv import NumError, go_quote, parse_uint
from apiserver.kinds.apiextensions.conversion import ConversionFailed
from apiserver.registry import continuation
from apiserver.registry.core import Item, Registry, State
from apiserver.registry.offload import LARGE, by_size
from apiserver.registry.options import ListOptions
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection
from apiserver.registry.translate import storage_errors
from apiserver.registry.versions import in_version, load
from apiserver.storage.errors import Compacted
from apiserver.storage.interface import Page, key_order
from apiserver.watch.cache import Cache
from apiserver.watch.entry import Entry, Fields, Labels

SOON = 0.05
"""Seconds for which a first page waits for a cache that is being loaded; what takes longer may be
very much."""
MANY = 20_000
"""Objects among which it is selected beside the loop: of so many that takes some 10 ms."""
LABELLED = 10_000
"""Objects with a label that are looked at instead of all: some milliseconds' work."""
WAIT = 3.0
"""Seconds that a read waits for a resourceVersion of the future."""

INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue "
    "parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token "
    "results in an inconsistent list - objects that were created, modified, or deleted between the "
    "time the first chunk was returned and "
    "now may show up in the list."
)


@dataclass(slots=True)
class Listing:
    """items in key order, for `apiserver.registry.versions.shown`; resource_version: of the list;
    continue_token and remaining as in ListMeta; shard: the selector of the share that it is, "" for
    all; sorted: whether items are in an order that was asked for instead."""

    items: Sequence[Item]
    resource_version: int
    continue_token: str = ""
    remaining: int | None = None
    shard: str = ""
    sorted: bool = False


def parse_version(text: str) -> int:
    """A resourceVersion as a number. Raises ValueError with Go's text."""
    try:
        return parse_uint(text)
    except NumError as e:
        raise ValueError(f"resourceVersion: Invalid value: {go_quote(text)}: {e}") from None


async def get(registry: Registry, scope: Scope, resource_version: str = "") -> Stored:
    """One object. Raises NotFound, PlainError for a version that is no number, TimedOut for one of
    the future."""
    key = scope.key()
    tenant, resource = scope.tenant.id, key.group_resource
    if not resource_version:
        cache = registry.watches.peek(tenant, resource)
        if cache is None:
            with storage_errors(scope, scope.name):
                record = await registry.store.get(tenant, key)
            return await _found(registry, scope, record)
        cache = await registry.watches.fresh(tenant, resource, cache)
    else:
        try:
            version = parse_version(resource_version)
        except ValueError as e:
            raise PlainError(str(e)) from None
        with storage_errors(scope, scope.name, version):
            cache = await registry.watches.wait_for(tenant, resource, version, WAIT)
    return await _found(registry, scope, cache.get(key))


async def _found(registry: Registry, scope: Scope, record: State | None) -> Stored:
    if record is None:
        with storage_errors(scope, scope.name):
            record = await registry.late(scope.tenant, scope.key())
    if record is None:
        raise NotFound(scope.resource.group_resource, scope.name)
    if plain(scope):
        return Stored.of_json(record.json)
    return Stored.of_object(await load(registry, scope, record))


def plain(scope: Scope) -> bool:
    """Whether stored bytes are what the request wants."""
    return scope.resource.serves_as_stored(scope.version)


async def list_(
    registry: Registry, scope: Scope, options: ListOptions, selection: Selection
) -> Listing:
    listing = await _list(registry, scope, options, selection)
    if selection.shard is not None:
        listing.shard = str(selection.shard)
    return listing


async def _list(
    registry: Registry, scope: Scope, options: ListOptions, selection: Selection
) -> Listing:
    version = requested_version(options)
    if options.continue_token:
        return await _continued(registry, scope, options, selection)
    if is_exact(options, version):
        return await _exact(registry, scope, options, selection, version, None)
    limited = options.limit and selection.everything and not options.resource_version
    if limited and not await _is_cached_soon(registry, scope):
        return await _stored(registry, scope, selection, options.limit)
    cache = await recent(registry, scope, options, version)
    limit = options.limit if options.resource_version != "0" else 0
    at = cache.resource_version
    entries = labelled(scope, selection, cache, at)
    entries = cache.select(scope.namespace) if entries is None else entries
    return await _page(registry, scope, selection, entries, at, limit)


def requested_version(options: ListOptions) -> int:
    """The list's resourceVersion, 0 for none, and where a token says it. Raises Invalid for options
    that do not go together, BadRequest for what is no version."""
    options.validate()
    if options.continue_token or not options.resource_version:
        return 0
    try:
        return parse_version(options.resource_version)
    except ValueError as e:
        raise BadRequest(f"invalid resource version: {e}") from None


def check_continued(options: ListOptions) -> None:
    """Raises BadRequest if a request that goes on with a list names a version beside its token,
    which is read before this is asked (k8s.io/apiserver ``storage.ValidateListOptions``)."""
    if options.resource_version not in ("", "0"):
        raise BadRequest("specifying resource version is not allowed when using continue")


def is_exact(options: ListOptions, version: int) -> bool:
    """Whether the list is to be that of ``version`` and no later one."""
    match = options.resource_version_match
    return bool(version) and (match == "Exact" or bool(options.limit and not match))


async def recent(registry: Registry, scope: Scope, options: ListOptions, version: int) -> Cache:
    """The cache at a state that answers a list which is not exact."""
    tenant, resource = scope.tenant.id, scope.resource.storage
    if not options.resource_version:
        with storage_errors(scope):
            return await registry.watches.fresh(tenant, resource)
    with storage_errors(scope, requested=version):
        return await registry.watches.wait_for(tenant, resource, version, WAIT)


async def _is_cached_soon(registry: Registry, scope: Scope) -> bool:
    """What is not yet is loaded meanwhile."""
    with storage_errors(scope):
        tenant, resource = scope.tenant.id, scope.resource.storage
        return await registry.watches.is_soon(tenant, resource, SOON)


async def _stored(registry: Registry, scope: Scope, selection: Selection, limit: int) -> Listing:
    """The first ``limit`` as the database has them now."""
    with storage_errors(scope):
        tenant, resource = scope.tenant.id, scope.resource.storage
        page = await registry.store.first(tenant, resource, namespace=scope.namespace, limit=limit)
    items = await in_version(registry, scope, page.records)
    if not page.more:
        return Listing(items, page.at)
    last = page.records[-1].key
    after = last.namespace, last.name
    return _cut(registry, scope, selection, items, page.at, page.remaining, after)


async def _page(
    registry: Registry,
    scope: Scope,
    selection: Selection,
    entries: Sequence[State],
    at: int,
    limit: int,
    after: tuple[str, str] | None = None,
) -> Listing:
    """The next ``limit`` of the entries, which are all of one state, ``at``."""
    if after is not None:
        begin = bisect_right(entries, key_order(*after), key=_order)
        entries = entries[begin:]
    if selection.everything:
        left = len(entries)
        chosen = entries[:limit] if 0 < limit < left else entries
        chosen = await in_version(registry, scope, chosen)
    else:
        chosen = await _selected(registry, scope, selection, entries, limit)
        left = len(chosen)
    if not limit or left <= limit:
        return Listing(chosen, at)
    page = chosen[:limit]
    last = page[-1].key
    return _cut(registry, scope, selection, page, at, left - limit, (last.namespace, last.name))


async def _selected(
    registry: Registry, scope: Scope, selection: Selection, entries: Sequence[Any], limit: int
) -> Sequence[Any]:
    """Those that are selected; not all, but more than ``limit`` where it says so. Of many beside
    the loop."""
    if name := selection.name:  # an object keeps its name in all versions
        entries = [entry for entry in entries if entry.name == name]
    found: Sequence[Any] = await in_version(registry, scope, entries)

    def select() -> list[Any]:
        matching = (e for e in found if selection.matches(e.labels, e.fields))
        return list(islice(matching, limit + 1 if limit else None))

    return await by_size(scope.asker(LARGE if len(entries) > MANY else 0), select)


def _order(state: State) -> tuple[str, str]:
    return key_order(state.key.namespace, state.key.name)


def _cut(
    registry: Registry,
    scope: Scope,
    selection: Selection,
    page: Sequence[Item],
    at: int,
    remaining: int,
    after: tuple[str, str],
) -> Listing:
    token = continuation.encode(
        continuation.Position(at, after), scope.tenant.id, scope.namespace, registry.sign
    )
    return Listing(page, at, token, remaining if selection.everything else None)


async def _continued(
    registry: Registry, scope: Scope, options: ListOptions, selection: Selection
) -> Listing:
    position = continuation.decode(
        options.continue_token,
        scope.tenant.id,
        scope.namespace,
        namespaced=scope.resource.namespaced,
        sign=registry.sign,
    )
    check_continued(options)
    if options.resource_version == "0":
        options = replace(options, limit=0)  # as of any list that begins there
    at = position.resource_version
    if at < 0:
        at = await registry.store.head(scope.tenant.id)
    try:
        return await _exact(registry, scope, options, selection, at, position.after)
    except TooOld:
        error = Expired(INCONSISTENT)
        onward = continuation.Position(-1, position.after)
        error.metadata["continue"] = continuation.encode(
            onward, scope.tenant.id, scope.namespace, registry.sign
        )
        raise error from None


class TooOld(Exception):
    """The log has been compacted since the first page."""


async def _exact(
    registry: Registry,
    scope: Scope,
    options: ListOptions,
    selection: Selection,
    at: int,
    after: tuple[str, str] | None,
) -> Listing:
    """The state at exactly ``at``; pages are read until ``limit`` objects are selected."""
    held = await held_at(registry, scope, at, selection)
    if held is not None:
        return await _page(registry, scope, selection, held, at, options.limit, after)
    items: list[Item] = []
    while True:
        left = options.limit - len(items) if options.limit else 0
        first = after is None and not options.continue_token
        page = await past_page(registry, scope, at, after, left, first=first)
        records = page.records
        states = await in_version(registry, scope, records)
        chosen = (
            states
            if selection.everything
            else [s for s in states if selection.matches(*seen(registry, scope, s))]
        )
        items += chosen
        if not page.more:
            return Listing(items, at)
        after = (records[-1].key.namespace, records[-1].key.name)
        if len(items) >= options.limit:
            return _cut(registry, scope, selection, items, at, page.remaining, after)


def labelled(scope: Scope, selection: Selection, cache: Cache, at: int) -> Sequence[State] | None:
    """Of the state at ``at`` the few that have a label which the selection demands; None where
    nothing is demanded, or of many. A webhook may give an object other labels in its version, and
    an object of a version that is gone fails every list."""
    resource = scope.resource
    if resource.webhook is not None:
        return None
    if resource.versions_may_go:
        try:
            for version in cache.versions:
                resource.check_stored_version(version)
        except ConversionFailed:
            return None
    return cache.having(selection.demands, at, scope.namespace, LABELLED)


async def held_at(
    registry: Registry, scope: Scope, at: int, selection: Selection | None = None
) -> Sequence[State] | None:
    """What the cache has of the state at ``at``, for a version of the future once it has come; with
    a ``selection`` what may be selected of it, at least.

    None where it has nothing, or where the log has been compacted beyond it: that state is gone
    then, for a worker that still has it, too (as in k8s.io/apiserver
    ``storage/cacher/compactor.go``)."""
    tenant, resource = scope.tenant.id, scope.resource.storage
    with storage_errors(scope, requested=at):
        head, floor = await registry.store.bounds(tenant)
        if at > head:
            await registry.watches.wait_for(tenant, resource, at, WAIT)
        cache = registry.watches.peek(tenant, resource)
        if cache is None or not cache.resource_version >= at >= floor:
            return None
        few = labelled(scope, selection, cache, at) if selection is not None else None
        return cache.state_at(at, scope.namespace) if few is None else few


async def past_page(
    registry: Registry,
    scope: Scope,
    at: int,
    after: tuple[str, str] | None,
    limit: int,
    *,
    first: bool,
) -> Page:
    """Raises, when the log has been compacted meanwhile, TooOld; Expired on the ``first`` page."""
    tenant, resource = scope.tenant.id, scope.resource.storage
    try:
        with storage_errors(scope, requested=at, passing=(Compacted,)):
            return await registry.store.list(
                tenant, resource, namespace=scope.namespace, at=at, after=after, limit=limit
            )
    except Compacted:
        if not first:
            raise TooOld from None
        raise Expired("The resourceVersion for the provided list is too old.") from None


def seen(registry: Registry, scope: Scope, state: State) -> tuple[Labels, Fields]:
    """What selectors see of it."""
    return (
        (state.labels, state.fields)
        if isinstance(state, Entry)
        else registry.index(scope.resource.storage, state.json)
    )
