"""A version of the log in words: Revision and ClusterRevision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.audit.trail import MANAGER
from apiserver.history.asked import marks
from apiserver.history.visit import PastObject, Visit
from apiserver.kinds.history.revision import API_VERSION
from apiserver.meta.objects import Object
from apiserver.meta.times import format_micro_time, format_time
from apiserver.registry.translate import storage_errors
from apiserver.storage.history import Version

RESTORES = {
    "rollback": "history.polyplane.dev/rollback-to",
    "undelete": "history.polyplane.dev/undelete-of",
}
"""Annotations of audit entries: which revision a write brought back."""


async def revisions_of(
    visit: Visit, past: Sequence[tuple[Version, PastObject]], *, whole: bool
) -> list[Object]:
    """Revisions of versions; ``whole``: with their objects."""
    asked = await marks(visit, past)
    known = [*(version for version, _ in past), *asked.values()]
    with storage_errors(visit.scope):
        entries = await visit.history.entries(visit.scope.tenant.id, known)
    may_audit: dict[str, bool] = {}
    revisions = []
    for version, state in past:
        namespace = version.record.key.namespace
        if namespace not in may_audit:
            may_audit[namespace] = await visit.may_audit(namespace)
        audited = may_audit[namespace]
        revision = _revision(visit, version, state, entries.get(version.number), audited)
        if (mark := asked.get(version.number)) is not None:
            revision["deletion"] = _deletion(mark, entries.get(mark.number), audited)
        if whole:
            revision["object"] = state.object
        revisions.append(revision)
    return revisions


def _revision(
    visit: Visit, version: Version, past: PastObject, entry: Object | None, audited: bool
) -> Object:
    key, labels = version.record.key, past.object["metadata"].get("labels")
    metadata: Object = {
        "name": str(version.number),
        **({"namespace": key.namespace} if key.namespace else {}),
        "resourceVersion": str(version.number),
        "creationTimestamp": format_time(version.at),
        **({"labels": labels} if labels else {}),
    }
    members: Object = {
        "objectRef": reference(version, past.object),
        "resource": str(key.group_resource),
        "type": version.type,
        "time": format_micro_time(version.at),
        "previous": str(version.previous) if version.previous else "",
        "oldest": version.is_oldest,
        "present": version.present,
        **_of_entry(version, entry, audited),
        "message": past.message,
    }
    head = {"kind": visit.scope.resource.kind, "apiVersion": API_VERSION, "metadata": metadata}
    return head | {name: value for name, value in members.items() if value}


def _deletion(mark: Version, entry: Object | None, audited: bool) -> Object:
    """The write that began a deletion which another one finished."""
    of_entry = _of_entry(mark, entry, audited)
    members = {
        "revision": str(mark.number),
        "time": format_micro_time(mark.at),
        **{name: of_entry.get(name) for name in ("verb", "manager", "request")},
    }
    return {name: value for name, value in members.items() if value}


def reference(version: Version, obj: Mapping[str, Any]) -> Object:
    """A core/v1 ObjectReference."""
    key = version.record.key
    parts = {
        "kind": obj.get("kind", ""),
        "namespace": key.namespace,
        "name": key.name,
        "uid": version.record.uid,
        "apiVersion": obj.get("apiVersion", ""),
        "resourceVersion": str(version.number),
    }
    return {name: value for name, value in parts.items() if value}


def _of_entry(version: Version, entry: Object | None, audited: bool) -> Object:
    """What the audit log has of the write."""
    if entry is None:
        return {}
    notes, asked = entry.get("annotations") or {}, entry.get("objectRef") or {}
    own = asked.get("resource") == version.record.key.resource
    verb, restored = entry.get("verb", ""), ""
    for name, note in RESTORES.items():
        if note in notes:
            verb, restored = name, notes[note]
    told = {
        "manager": notes.get(MANAGER, ""),
        "verb": verb,
        "subresource": asked.get("subresource", "") if own else "",
        "restored": restored,
    }
    return {**told, "request": request_of(entry)} if audited else told


def request_of(entry: Object) -> Object:
    user, acting = entry.get("user") or {}, entry.get("impersonatedUser") or {}
    parts = {
        "username": user.get("username"),
        "uid": user.get("uid"),
        "groups": user.get("groups"),
        "impersonatedUsername": acting.get("username"),
        "userAgent": entry.get("userAgent"),
        "sourceIPs": entry.get("sourceIPs"),
        "auditID": entry.get("auditID"),
        "requestURI": entry.get("requestURI"),
    }
    return {name: value for name, value in parts.items() if value}
