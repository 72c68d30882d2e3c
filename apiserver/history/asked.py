"""Who asked for a deletion. Whoever takes the last finalizer away finishes it, which is often a
controller; the one who asked for it made an earlier version, the first that has a
deletionTimestamp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from apiserver.history.visit import PastObject, Visit
from apiserver.registry.offload import by_size
from apiserver.registry.translate import storage_errors
from apiserver.storage.history import Version

STEPS = 32
"""How many versions of an object between the two are looked through."""
MOST_BYTES = 8 * 2**20
"""Of objects that are looked at in one step, for all that a page has."""


async def marks(visit: Visit, past: Sequence[tuple[Version, PastObject]]) -> Mapping[int, Version]:
    """Of each version of type DELETED, by its number, the earlier one that began the deletion;
    those that were deleted at once are left out, and those of which that is not retained any
    more."""
    found: dict[int, Version] = {}
    ahead = {
        version.number: version.previous
        for version, state in past
        if version.type == "DELETED"
        and version.has_previous
        and "deletionTimestamp" in state.object["metadata"]
    }
    marked: dict[int, Version] = {}
    for _ in range(STEPS):
        if not ahead:
            break
        before = await _marked(visit, sorted(ahead.values(), reverse=True))
        for number, previous in list(ahead.items()):
            version, is_marked = before.get(previous, (None, False))
            del ahead[number]
            if version is None:
                continue
            if is_marked:
                marked[number] = version
                if version.has_previous:
                    ahead[number] = version.previous
            if (not is_marked or version.previous == 0) and number in marked:
                found[number] = marked[number]
    return found


async def _marked(visit: Visit, numbers: Sequence[int]) -> dict[int, tuple[Version, bool]]:
    """Those versions, and whether each has a deletionTimestamp."""
    with storage_errors(visit.scope):
        versions = await visit.history.get(visit.scope.tenant.id, numbers, max_bytes=MOST_BYTES)
    size = sum(len(version.record.data) for version in versions)
    return await by_size(
        visit.scope.asker(size), lambda: {v.number: (v, _is_marked(v)) for v in versions}
    )


def _is_marked(version: Version) -> bool:
    data = version.record.data
    if b'"deletionTimestamp"' not in data:
        return False
    return bool(orjson.loads(data)["metadata"].get("deletionTimestamp"))
