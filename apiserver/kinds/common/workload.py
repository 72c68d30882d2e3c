"""Workloads: kinds with a pod template in spec.template. What they all share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import (
    checks,
    disabled,
    poddefaults,
    podwarnings,
    rollout,
    scale,
    selectors,
    table,
)
from apiserver.meta import names
from apiserver.meta.objects import Object, ReadOnlyObject

SPEC = checks.root("spec")
STATUS = checks.root("status")


class Workload(Kind):
    """Template defaults and warnings, a status of its own, Scale for those that count replicas."""

    status = True
    takes_of_old = False

    def default(self, obj: Object, version: str) -> None:
        poddefaults.default_template(template(obj))

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        self.drop_disabled(obj)
        super().prepare_create(obj, context)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        self.drop_disabled(obj)
        super().prepare_update(obj, old, context)

    def drop_disabled(self, obj: Object) -> None:
        """Takes away what belongs to features that are off."""
        disabled.drop((obj["spec"].get("template") or {}).get("spec") or {})

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        """About the template, again whenever an update raises the generation."""
        if old is not None and obj["metadata"].get("generation") == old["metadata"].get(
            "generation"
        ):
            return []
        return podwarnings.template(template(obj), SPEC.child("template"))

    def scale_of(self, obj: Object) -> Object:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        return scale.scale(obj, status.get("replicas", 0), self.selector_text(spec.get("selector")))

    def selector_text(self, selector: Mapping[str, Any] | None) -> str:
        """The selector as a query string, "" for one that selects everything or nothing."""
        text = selectors.show(selector)
        return "" if text in ("<none>", "<error>") else text

    def set_scale(self, obj: Object, replicas: int) -> None:
        obj.setdefault("spec", {})["replicas"] = replicas


def template(obj: Object) -> Object:
    """spec.template, made when it is missing."""
    pod_template: Object = obj.setdefault("spec", {}).setdefault("template", {})
    return pod_template


def name_for_pods(obj: Object) -> list[str]:
    """A warning for names that make bad host names of pods."""
    wrong = names.dns1123_label(obj["metadata"].get("name", ""))
    if not wrong:
        return []
    why = (
        "this is used in Pod names and hostnames, which can result in surprising "
        "behavior; a DNS label is recommended"
    )
    return [f"metadata.name: {why}: [{' '.join(wrong)}]"]


def replica_counts(status: ReadOnlyObject, *others: str) -> checks.Errors:
    """The counters that ReplicaSets and ReplicationControllers report: none is negative, none
    exceeds ``replicas``. ``others``: further members that must not be negative, in the order of
    their errors."""
    counted = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from checks.non_negatives(status, STATUS, "replicas", *counted, *others)
    yield from rollout.counters(status, STATUS, *counted)


def replica_cells(obj: Object, now: datetime, selector: str) -> list[Any]:
    """A row of a ReplicaSet or ReplicationController: how many replicas are wanted, there and
    ready."""
    spec, status = obj["spec"], obj.get("status") or {}
    return [
        table.name(obj),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        table.created(obj, now),
        *table.containers((spec.get("template") or {}).get("spec") or {}),
        selector,
    ]
