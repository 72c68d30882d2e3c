"""ResourceClaim."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath
from apiserver.kinds.base import STATUS_KEEPS_METADATA, Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.alike import alike
from apiserver.kinds.common.internal import quote
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.declarative.tree import under
from apiserver.kinds.registration import register
from apiserver.kinds.resource.allocation import of_allocated, status_errors
from apiserver.kinds.resource.requests import (
    CLAIM_RULES,
    OPAQUE_DRIVER,
    at_most,
    claim_errors,
    default_claim,
    default_tolerations,
    request_names,
)
from apiserver.meta.objects import Object
from apiserver.meta.times import age


@register("resource.k8s.io", "ResourceClaim")
class ResourceClaim(Kind):
    returns_deleted = True
    generation = False
    raw_fields = (
        "spec.devices.config[].opaque.parameters",
        "status.allocation.devices.config[].opaque.parameters",
        "status.devices[].data",
    )
    status = True
    unprinted = frozenset({"status"})
    status_keeps = STATUS_KEEPS_METADATA
    declared = Declared(
        {
            "": [t.supports_subresource("/status")],
            "spec": [t.alpha(t.immutable())],
            **under("spec", CLAIM_RULES),
            "status.reservedFor": at_most(256),
            "status.allocation.devices.results": at_most(32),
            "status.allocation.devices.results[*].bindingConditions": at_most(4),
            "status.allocation.devices.results[*].bindingFailureConditions": at_most(4),
            "status.allocation.devices.config": at_most(64),
            "status.allocation.devices.config[*].requests": at_most(32),
            "status.allocation.devices.config[*].opaque.driver": OPAQUE_DRIVER,
        }
    )

    def default(self, obj: Object, version: str) -> None:
        default_claim(obj.setdefault("spec", {}))
        given = (obj.setdefault("status", {}).get("allocation") or {}).get("devices") or {}
        for result in given.get("results") or ():
            default_tolerations(result)

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {}

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """What drivers tell of a device goes with its allocation."""
        super().prepare_status_update(obj, old, context)
        status = obj.get("status") or {}
        if status.get("devices"):
            kept = of_allocated(status, old.get("status") or {})
            if kept:
                status["devices"] = kept
            else:
                del status["devices"]

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(claim_errors(obj.get("spec") or {}, FieldPath("spec")))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        spec, quoted = obj.get("spec") or {}, partial(quote, "resource.v1.ResourceClaimSpec")
        same = partial(alike, "resource.v1.ResourceClaimSpec")
        before = old.get("spec") or {}
        changed = c.immutable(spec, before, FieldPath("spec"), quote=quoted, same=same)
        return list(covered(changed, "immutable"))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        deleted, names = (
            bool(obj["metadata"].get("deletionTimestamp")),
            request_names(obj.get("spec") or {}),
        )
        return list(
            status_errors(obj.get("status") or {}, old.get("status") or {}, names, deleted=deleted)
        )

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, status = obj["metadata"], obj.get("status") or {}
        states = ["deleted"] if metadata.get("deletionTimestamp") else []
        if status.get("allocation") is not None:
            states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
        elif not states:
            states = ["pending"]
        return [metadata["name"], ",".join(states), age(metadata.get("creationTimestamp"), now)]
