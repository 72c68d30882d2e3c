"""IPAddress: that an address is taken, and by what. Its name is the address."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.formats import canonical_ip
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object
from apiserver.meta.times import age

FAMILY = "ipaddress.kubernetes.io/ip-family"
MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
ALLOCATOR = "ipallocator.k8s.io"
_REF = FieldPath("spec.parentRef")


def is_allocated(obj: Object) -> bool:
    """Whether it stands for a Service's cluster IP, and is not somebody's own."""
    return bool((obj["metadata"].get("labels") or {}).get(MANAGED_BY) == ALLOCATOR)


@register("networking.k8s.io", "IPAddress")
class IPAddress(Kind):
    generation = False
    name_rule = staticmethod(canonical_ip)
    declared = Declared(
        {
            "spec.parentRef": [t.alpha(t.required()), t.alpha(t.immutable())],
            "spec.parentRef.resource": [t.alpha(t.required())],
            "spec.parentRef.name": [t.alpha(t.required())],
        }
    )

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_reference((obj.get("spec") or {}).get("parentRef")))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        new, before = ((o.get("spec") or {}).get("parentRef") for o in (obj, old))
        return list(covered(c.immutable(new, before, _REF), "immutable"))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        ref = (obj.get("spec") or {}).get("parentRef")
        parent_text = "<none>"
        if ref is not None:
            parts = [p for p in (ref.get("resource"), ref.get("group")) if p]
            where = [p for p in (ref.get("namespace"), ref.get("name")) if p]
            parent_text = "/".join([".".join(parts).lower(), *where])
        # The row has an age, for which there is no column.
        return [
            obj["metadata"]["name"],
            parent_text,
            age(obj["metadata"].get("creationTimestamp"), now),
        ]


def _reference(ref: Object | None) -> c.Errors:
    if ref is None:
        yield from covered([required(_REF)])
        return
    if ref.get("group"):
        yield from c.dns_subdomain(ref["group"], _REF.child("group"))
    for member in ("resource", "name"):
        if not ref.get(member):
            yield from covered([required(_REF.child(member))])
    for member in ("resource", "name", "namespace"):
        if ref.get(member):
            yield from c.name(ref[member], _REF.child(member), names.path_segment)
