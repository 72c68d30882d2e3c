"""FieldIndex: a field of a resource that field selectors know, and PostgreSQL indexes.

What lists do with it: `apiserver.registry.indexes`. What fills the index:
`apiserver.search.fieldindexer`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, invalid, required
from apiserver.kinds.base import STATUS_KEEPS_METADATA, Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import metaconditions
from apiserver.kinds.common.metaconditions import conditions_of, state_of
from apiserver.kinds.registration import register
from apiserver.meta.fieldpaths import LONGEST, is_path
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import age

INDEXES = GroupResource("search.polyplane.dev", "fieldindexes")
READY = "Ready"
_SPEC = FieldPath("spec")
_STATUS = FieldPath("status").child("conditions")
_SECRETS = GroupResource("", "secrets")
_KNOWN = ("metadata.name", "metadata.namespace")
"""What all field selectors know."""
_PATH_RULE = (
    "must be names of members joined by dots (such as spec.strategy.type), with letters, digits, "
    f"'-' and '_', of at most {LONGEST} characters"
)


@register("search.polyplane.dev", "FieldIndex")
class FieldIndex(Kind):
    status = True
    status_keeps = STATUS_KEEPS_METADATA

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj.get("spec") or {}))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return list(metaconditions.validate(conditions_of(obj), _STATUS))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        resource = str(GroupResource(spec.get("group", ""), spec.get("resource", "")))
        ready = state_of(obj, READY) or "Unknown"
        created = age(metadata.get("creationTimestamp"), now)
        return [metadata["name"], resource, spec.get("path", ""), ready, created]


def _errors(spec: Object) -> c.Errors:
    group, resource, path = (spec.get(name) or "" for name in ("group", "resource", "path"))
    if group:
        yield from c.dns_subdomain(group, _SPEC.child("group"))
    if not resource:
        yield required(_SPEC.child("resource"), "")
    else:
        yield from c.dns_label(resource, _SPEC.child("resource"))
    if GroupResource(group, resource) == _SECRETS:
        yield forbidden(_SPEC.child("resource"), "what is in Secrets is not indexed")
    if not path:
        yield required(_SPEC.child("path"), "")
    elif path in _KNOWN:
        yield invalid(_SPEC.child("path"), path, "all field selectors know it")
    elif not is_path(path):
        yield invalid(_SPEC.child("path"), path, _PATH_RULE)
