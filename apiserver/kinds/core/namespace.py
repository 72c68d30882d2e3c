"""Namespace: its finalizer "kubernetes", its name as a label, its phase (k8s.io/kubernetes
``registry/core/namespace``)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks, namerules, table
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"
_STANDARD = frozenset({FINALIZER, "orphan", "foregroundDeletion"})


@register("", "Namespace")
class Namespace(Kind):
    generation = False
    status = True
    two_phases = True
    collected_at_once = True
    name_rule = staticmethod(namerules.dns_label)

    def default(self, obj: Object, version: str) -> None:
        metadata = obj["metadata"]
        if metadata.get("name"):
            metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: metadata["name"]}
        status = obj.setdefault("status", {})
        status["phase"] = status.get("phase") or "Active"
        obj.setdefault("spec", {})

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        obj["spec"] = {
            "finalizers": finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER]
        }

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        obj["status"] = old["status"]
        finalizers = (old.get("spec") or {}).get("finalizers")
        obj["spec"] = {"finalizers": finalizers} if finalizers else {}

    def prepare_subresource_update(
        self, subresource: str, obj: Object, old: Object, context: WriteContext
    ) -> None:
        """/finalize writes spec.finalizers."""
        obj["status"] = old["status"]

    def canonicalize(self, obj: Object) -> None:
        """A generated name was not known when defaults ran."""
        labels = obj["metadata"].get("labels") or {}
        obj["metadata"]["labels"] = {**labels, NAME_LABEL: obj["metadata"]["name"]}

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        path = checks.root("spec", "finalizers")
        return [
            error
            for name in (obj.get("spec") or {}).get("finalizers") or ()
            for error in finalizer(name, path)
        ]

    def validate_subresource_update(
        self, subresource: str, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        path = checks.root("spec", "finalizers")
        return [
            error
            for i, name in enumerate((obj.get("spec") or {}).get("finalizers") or ())
            for error in finalizer(name, path.at(i))
        ]

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        phase, path = (obj.get("status") or {}).get("phase", ""), checks.root("status", "Phase")
        if not obj["metadata"].get("deletionTimestamp"):
            wrong, why = phase != "Active", "may only be 'Active' if `deletionTimestamp` is empty"
        else:
            wrong, why = (
                phase != "Terminating",
                "may only be 'Terminating' if `deletionTimestamp` is not empty",
            )
        return [invalid(path, phase, why)] if wrong else []

    def begin_deletion(self, obj: Object, now: datetime) -> bool:
        """It terminates; what is left of the deletion waits for spec.finalizers."""
        if obj["metadata"].get("deletionTimestamp"):
            return False
        obj["metadata"]["deletionTimestamp"] = format_time(now)
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        return True

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return [
            table.name(obj),
            (obj.get("status") or {}).get("phase", ""),
            table.created(obj, now),
        ]

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"status.phase": (obj.get("status") or {}).get("phase", "")}


def finalizer(name: str, path: FieldPath) -> checks.Errors:
    """Finalizers are qualified names, and unprefixed ones must be among Kubernetes' own."""
    yield from checks.qualified_name(name, path)
    if "/" not in name and name not in _STANDARD:
        yield invalid(
            path, name, "name is neither a standard finalizer name nor is it fully qualified"
        )
