"""Lease (k8s.io/kubernetes ``apis/coordination/validation``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldPath, invalid
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks, table
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


def _lasting(seconds: int, path: FieldPath) -> checks.Errors:
    if seconds <= 0:
        yield invalid(path, seconds, "must be greater than 0")


@register("coordination.k8s.io", "Lease")
class Lease(Kind):
    """PUT of an absent lease creates it; an update must name the version that it replaces."""

    metadata_again = False
    standard_finalizers = False
    generation = False
    allow_create_on_update = True
    allow_unconditional_update = False
    declared = Declared(
        {
            "spec.leaseDurationSeconds": [t.optional(), t.custom(_lasting)],
            "spec.leaseTransitions": [t.optional(), t.minimum(0)],
        }
    )

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        _drop_disabled(obj.get("spec") or {}, {})

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        _drop_disabled(obj.get("spec") or {}, old.get("spec") or {})

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return [
            table.name(obj),
            (obj.get("spec") or {}).get("holderIdentity") or "",
            table.created(obj, now),
        ]


def _drop_disabled(spec: Object, old: Object) -> None:
    """strategy and preferredHolder belong to CoordinatedLeaderElection, which is off."""
    for field in ("strategy", "preferredHolder"):
        if field not in old:
            spec.pop(field, None)
