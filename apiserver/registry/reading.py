"""Get and list: which resourceVersion an answer may have, and where it comes from.

The table of "Resource versions" in the Kubernetes API concepts: unset is Most recent, "0" is Any, another value is Not older than, Exact
when resourceVersionMatch says so (or, for compatibility, when a limit is given without a match). Recent states come from the watch cache,
which a consistent read first brings up to the tenant's head; past states come from the event log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.errors import BadRequest, Expired, NotFound, PlainError
from apiserver.fielderrors import go_quote
from apiserver.registry import continuation
from apiserver.registry.core import Item, Registry, State
from apiserver.registry.options import ListOptions
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection
from apiserver.registry.translate import storage_errors
from apiserver.registry.versions import in_version, load
from apiserver.storage.errors import Compacted
from apiserver.watch.entry import Entry, Fields, Labels

WAIT = 3.0
"""Seconds that a read waits for a resourceVersion of the future."""

INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue "
    "parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token "
    "results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and "
    "now may show up in the list."
)


@dataclass(slots=True)
class Listing:
    """items in key order, for `apiserver.registry.versions.shown`; resource_version: of the list; continue_token and remaining as in
    ListMeta."""

    items: Sequence[Item]
    resource_version: int
    continue_token: str = ""
    remaining: int | None = None


def parse_version(text: str) -> int:
    """A resourceVersion as a number. Raises ValueError with Go's text."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"resourceVersion: Invalid value: {go_quote(text)}: strconv.ParseUint: parsing {go_quote(text)}: invalid syntax")
    value = int(text)
    if value >= 2**64:
        raise ValueError(
            f"resourceVersion: Invalid value: {go_quote(text)}: strconv.ParseUint: parsing {go_quote(text)}: value out of range"
        )
    return value


async def get(registry: Registry, scope: Scope, resource_version: str = "") -> Stored:
    """One object. Raises NotFound, PlainError for a version that is no number, TimedOut for one of the future."""
    key = scope.key()
    tenant, resource = scope.tenant.id, key.group_resource
    if not resource_version:
        cache = registry.watches.peek(tenant, resource)
        if cache is None:
            with storage_errors(scope, scope.name):
                record = await registry.store.get(tenant, key)
            return await _found(registry, scope, record)
        cache = await registry.watches.fresh(tenant, resource)
    else:
        try:
            wanted = parse_version(resource_version)
        except ValueError as e:
            raise PlainError(str(e)) from None
        with storage_errors(scope, scope.name, wanted):
            cache = await registry.watches.wait_for(tenant, resource, wanted, WAIT)
    return await _found(registry, scope, cache.get(key))


async def _found(registry: Registry, scope: Scope, record: State | None) -> Stored:
    if record is None:
        raise NotFound(scope.resource.group_resource, scope.name)
    if plain(scope):
        return Stored.of_json(record.json)
    return Stored.of_object(await load(registry, scope, record))


def plain(scope: Scope) -> bool:
    """Whether stored bytes are what the request wants: a built-in kind in its storage version, through an endpoint of its own group."""
    resource = scope.resource
    return not resource.custom and scope.version == resource.storage_version and resource.storage.group == resource.group


async def list_(registry: Registry, scope: Scope, options: ListOptions, selection: Selection) -> Listing:
    options.validate(watch=False)
    rv, match = options.resource_version, options.resource_version_match
    wanted = 0
    if rv:
        try:
            wanted = parse_version(rv)
        except ValueError as e:
            raise BadRequest(f"invalid resource version: {e}") from None
    if options.continue_token:
        if wanted:
            raise BadRequest("specifying resource version is not allowed when using continue")
        return await _continued(registry, scope, options, selection)
    if match == "Exact" or (wanted and options.limit and not match):
        return await _exact(registry, scope, options, selection, wanted, None)
    tenant, resource = scope.tenant.id, scope.resource.storage
    if not rv:
        with storage_errors(scope):
            cache = await registry.watches.fresh(tenant, resource)
    else:
        with storage_errors(scope, wanted=wanted):
            cache = await registry.watches.wait_for(tenant, resource, wanted, WAIT)
    limit = options.limit if rv != "0" else 0
    return await _page(registry, scope, selection, cache, limit)


async def _page(registry: Registry, scope: Scope, selection: Selection, cache: Any, limit: int) -> Listing:
    """The first ``limit`` of what the cache holds now."""
    entries: Any = cache.select(scope.namespace)
    at = cache.resource_version
    if not selection.everything:
        if name := selection.name:
            entries = [e for e in entries if e.name == name]  # an object keeps its name in all versions
        entries = await in_version(registry, scope, entries)
        entries = [e for e in entries if selection.matches(e.labels, e.fields)]
    if not limit or len(entries) <= limit:
        return Listing(await in_version(registry, scope, entries) if selection.everything else entries, at)
    shown = entries[:limit]
    if selection.everything:
        shown = await in_version(registry, scope, shown)
    return _cut(registry, scope, selection, shown, at, len(entries) - limit, (shown[-1].namespace, shown[-1].name))


def _cut(
    registry: Registry, scope: Scope, selection: Selection, shown: Sequence[Item], at: int, remaining: int, after: tuple[str, str]
) -> Listing:
    token = continuation.encode(continuation.Position(at, after), scope.tenant.id, scope.namespace, registry.sign)
    return Listing(shown, at, token, remaining if selection.everything else None)


async def _continued(registry: Registry, scope: Scope, options: ListOptions, selection: Selection) -> Listing:
    position = continuation.decode(
        options.continue_token, scope.tenant.id, scope.namespace, namespaced=scope.resource.namespaced, sign=registry.sign
    )
    at = position.resource_version
    if at < 0:
        at = await registry.store.head(scope.tenant.id)
    try:
        return await _exact(registry, scope, options, selection, at, position.after)
    except _TooOld:
        error = Expired(INCONSISTENT)
        onward = continuation.Position(-1, position.after)
        error.metadata["continue"] = continuation.encode(onward, scope.tenant.id, scope.namespace, registry.sign)
        raise error from None


class _TooOld(Exception):
    pass


async def _exact(
    registry: Registry, scope: Scope, options: ListOptions, selection: Selection, at: int, after: tuple[str, str] | None
) -> Listing:
    """The state at exactly ``at``; pages are read until ``limit`` objects are selected."""
    tenant, resource = scope.tenant.id, scope.resource.storage
    with storage_errors(scope, wanted=at):
        head = await registry.store.head(tenant)
        if at > head:
            await registry.watches.wait_for(tenant, resource, at, WAIT)
    shown: list[Item] = []
    while True:
        want = options.limit - len(shown) if options.limit else 0
        try:
            with storage_errors(scope, wanted=at, passing=(Compacted,)):
                page = await registry.store.list(tenant, resource, namespace=scope.namespace, at=at, after=after, limit=want)
        except Compacted as e:
            if after is not None or options.continue_token:
                raise _TooOld from None
            raise Expired(f"The resourceVersion for the provided list is too old. ({at} is below {e.floor})") from None
        records = page.records
        found = await in_version(registry, scope, records)
        chosen = found if selection.everything else [s for s in found if selection.matches(*_seen(registry, scope, s))]
        shown += chosen
        if not page.more:
            return Listing(shown, at)
        after = (records[-1].key.namespace, records[-1].key.name)
        if len(shown) >= options.limit:
            return _cut(registry, scope, selection, shown, at, page.remaining, after)


def _seen(registry: Registry, scope: Scope, state: State) -> tuple[Labels, Fields]:
    """What selectors see of it."""
    return (state.labels, state.fields) if isinstance(state, Entry) else registry.index(scope.resource.storage, state.json)
