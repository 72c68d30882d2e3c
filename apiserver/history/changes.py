"""Diff and blame of revisions: the objects are read from the log a part at a time, converted to one
version, and compared field by field beside the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from apiserver.errors import BadRequest, Expired
from apiserver.fieldmanager.fieldpath import path_text
from apiserver.fieldmanager.managed import (
    InvalidManagedFields,
    Managed,
    decode_entries,
    entries_of,
)
from apiserver.fieldmanager.types import object_type
from apiserver.history.blame import Blame, Line, Snapshot
from apiserver.history.leaves import Leaves, leaves
from apiserver.history.revisions import reference, request_of
from apiserver.history.visit import Visit
from apiserver.kinds.apiextensions.conversion import ConversionFailed
from apiserver.kinds.history.revision import API_VERSION
from apiserver.meta.equality import equal
from apiserver.meta.objects import Object
from apiserver.meta.raw import plain, way_of
from apiserver.meta.times import format_micro_time
from apiserver.registry.core import State
from apiserver.registry.offload import by_size
from apiserver.registry.scope import Scope
from apiserver.registry.translate import storage_errors
from apiserver.registry.versions import in_version, shown
from apiserver.storage.history import Version

MOST_VERSIONS = 1000
MOST_BYTES = 16 * 2**20
"""Of versions that one blame looks at."""
_BATCH, _BATCH_BYTES = 100, 2**20


async def _scope_of(visit: Visit, version: Version, api_version: str) -> Scope:
    """Raises BadRequest: what has no definition has no fields."""
    scope = await visit.scope_of(version, api_version)
    if scope is None:
        gone = version.record.key.group_resource
        raise BadRequest(f"the definition of {gone} is gone: nobody knows its fields")
    return scope


def _snapshot(visit: Visit, scope: Scope, version: Version, state: State) -> Snapshot:
    obj = shown(visit.registry, scope, state)
    if raw_fields := scope.resource.hooks.raw_fields:
        obj = plain(obj, way_of(raw_fields))
    try:
        managed = decode_entries(entries_of(obj))
    except InvalidManagedFields:
        managed = Managed()
    return Snapshot(version.number, leaves(object_type(scope.schema), obj), managed)


async def _snapshots(visit: Visit, scope: Scope, versions: Sequence[Version]) -> Sequence[Snapshot]:
    """Raises ConversionFailed."""
    states = await in_version(visit.registry, scope, [v.record for v in versions])
    asker = scope.asker(sum(len(v.record.data) for v in versions))
    return await by_size(
        asker,
        lambda: [_snapshot(visit, scope, v, s) for v, s in zip(versions, states, strict=True)],
    )


def _head(visit: Visit, kind: str, version: Version, scope: Scope) -> Object:
    key = version.record.key
    metadata = {"name": str(version.number)}
    if key.namespace:
        metadata["namespace"] = key.namespace
    about = {"kind": scope.resource.kind, "apiVersion": scope.gvk.api_version}
    return {
        "kind": kind,
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "objectRef": reference(version, about),
    }


# --- diff -----------------------------------------------------------------------------------------
async def diff(visit: Visit, name: str, other: str, api_version: str) -> Object:
    """A RevisionDiff of revision ``name``, with ``other`` or with what it replaced. Raises
    NotFound, BadRequest, Expired."""
    version = await visit.revision(name)
    scope = await _scope_of(visit, version, api_version)
    before = await _before(visit, version, other)
    pair = [version] if before is None else [version, before]
    snapshots = await _snapshots(visit, scope, pair)
    old = snapshots[1].fields if before is not None else {}
    asker = scope.asker(sum(len(v.record.data) for v in pair))
    differences = await by_size(asker, lambda: changes(old, snapshots[0].fields))
    return {
        **_head(visit, "RevisionDiff", version, scope),
        "from": str(before.number) if before is not None else "",
        "to": name,
        "changes": differences,
    }


async def _before(visit: Visit, version: Version, other: str) -> Version | None:
    if other:
        earlier = await visit.revision(other)
        if earlier.record.key != version.record.key:
            raise BadRequest(f"revisions {other} and {version.number} are of different objects")
        return earlier
    if not version.previous:
        return None
    if not version.has_previous:
        raise Expired(f"what revision {version.number} replaced is no longer retained")
    return await visit.revision(str(version.previous))


def changes(old: Leaves, new: Leaves) -> list[Object]:
    """In the order of the new object, then what is gone."""
    differences: list[Object] = []
    for path, value in new.items():
        if path not in old:
            differences.append({"path": path_text(path), "type": "added", "to": value})
        elif not equal(old[path], value):
            text = path_text(path)
            differences.append({"path": text, "type": "modified", "from": old[path], "to": value})
    gone = (p for p in old if p not in new)
    differences += ({"path": path_text(p), "type": "removed", "from": old[p]} for p in gone)
    return differences


# --- blame ----------------------------------------------------------------------------------------
async def blame(visit: Visit, name: str, api_version: str) -> Object:
    """A RevisionBlame. Raises NotFound, BadRequest."""
    version = await visit.revision(name)
    scope = await _scope_of(visit, version, api_version)
    walk = _Walk(visit, scope, version)
    await walk.run()
    versions = walk.seen
    telling = [versions[n] for n in {line.number for line in walk.lines.values()} if n in versions]
    requests: dict[int, Object] = {}
    if await visit.may_audit(version.record.key.namespace):
        with storage_errors(visit.scope):
            entries = await visit.history.entries(visit.scope.tenant.id, telling)
        requests = {number: request_of(entry) for number, entry in entries.items()}
    lines = walk.lines.values()
    fields = await by_size(
        scope.asker(len(version.record.data)),
        lambda: [_field(x, versions, requests) for x in lines],
    )
    answer = {
        **_head(visit, "RevisionBlame", version, scope),
        "complete": not walk.message,
        "oldest": str(walk.last.number),
        "message": walk.message,
        "fields": fields,
    }
    return {member: value for member, value in answer.items() if value != ""}


def _field(line: Line, versions: dict[int, Version], requests: dict[int, Object]) -> Object:
    asked = requests.get(line.number, {})
    told: dict[str, Any] = {
        "path": path_text(line.path),
        "revision": str(line.number) if line.number else "",
        "time": format_micro_time(versions[line.number].at) if line.number else "",
        "username": asked.get("impersonatedUsername") or asked.get("username", ""),
    }
    if line.manager is not None:
        told["manager"], told["operation"] = line.manager.name, line.manager.operation
        told["subresource"] = line.manager.subresource
    owners = [
        {
            "manager": manager.name,
            "operation": manager.operation,
            **({"subresource": manager.subresource} if manager.subresource else {}),
            **({"since": str(since)} if since else {}),
        }
        for manager, since in line.owners.items()
    ]
    return {name: value for name, value in (told | {"owners": owners}).items() if value}


def _tell(told: Blame, snapshots: Sequence[Snapshot]) -> None:
    for snapshot in snapshots:
        told.older(snapshot)


class _Walk:
    """From one version back, until nothing is left to be told, to the object's beginning, to the
    end of what is retained, or to the limits. seen: the versions, by their numbers; last: the
    oldest of them; message: why it ended early."""

    def __init__(self, visit: Visit, scope: Scope, version: Version) -> None:
        self._visit, self._scope = visit, scope
        self.last, self.seen, self.message = version, {version.number: version}, ""
        self._bytes = len(version.record.data)
        self._blame: Blame | None = None

    @property
    def lines(self) -> dict[Any, Line]:
        assert self._blame is not None, "run() was awaited"
        return self._blame.lines

    async def run(self) -> None:
        (newest,) = await _snapshots(self._visit, self._scope, [self.last])
        told = self._blame = await by_size(self._scope.asker(self._bytes), lambda: Blame(newest))
        while not told.done and not self._ended(told):
            try:
                await self._further(told)
            except ConversionFailed as error:
                self.message = f"older revisions cannot be converted: {error.message}"
                return

    def _ended(self, told: Blame) -> bool:
        if not self.last.previous:
            told.born()
        elif not self.last.has_previous:
            self.message = "before the retained history"
        elif len(self.seen) >= MOST_VERSIONS or self._bytes >= MOST_BYTES:
            self.message = f"only the last {len(self.seen)} revisions were looked at"
        return not self.last.previous or bool(self.message)

    async def _further(self, told: Blame) -> None:
        key, tenant = self.last.record.key, self._visit.scope.tenant.id
        with storage_errors(self._visit.scope):
            read, _ = await self._visit.history.of_key(
                tenant,
                key,
                before=self.last.number,
                limit=min(_BATCH, MOST_VERSIONS - len(self.seen)),
                max_bytes=_BATCH_BYTES,
            )
        chain = self._chain(read)
        if not chain:  # compacted a moment ago
            self.message = "before the retained history"
            return
        snapshots = await _snapshots(self._visit, self._scope, chain)
        asker = self._scope.asker(sum(len(v.record.data) for v in chain))
        await by_size(asker, partial(_tell, told, snapshots))

    def _chain(self, read: Sequence[Version]) -> list[Version]:
        """Those that the last one came from, in turn; they are seen."""
        chain = []
        for version in read:
            if version.number != self.last.previous:
                break
            chain.append(version)
            self.seen[version.number] = self.last = version
            self._bytes += len(version.record.data)
        return chain
