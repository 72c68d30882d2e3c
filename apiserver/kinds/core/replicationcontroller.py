"""ReplicationController: ReplicaSet's ancestor, with a plain map as selector (k8s.io/kubernetes
``apis/core/validation``)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid, required
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks, podwarnings, selectors, templates
from apiserver.kinds.common.namerules import long_name
from apiserver.kinds.common.workload import (
    SPEC,
    Workload,
    name_for_pods,
    replica_cells,
    replica_counts,
)
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import NAME_RULES, covered
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object

_TEMPLATE = SPEC.child("template")


@register("", "ReplicationController")
class ReplicationController(Workload):
    metadata_again = False
    name_rule = staticmethod(long_name)
    dependents = "orphan"
    declared = Declared(
        {
            "": [t.supports_subresource("/scale")],
            "metadata": NAME_RULES,
            "spec.replicas": [t.alpha(t.optional()), t.alpha(t.minimum(0))],
            "spec.minReadySeconds": [t.alpha(t.optional()), t.alpha(t.minimum(0))],
        }
    )

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("template") is not None:
            super().default(obj, version)
            labels = _label(obj)
            if labels:
                spec["selector"] = spec.get("selector") or dict(labels)
        if spec.get("replicas") is None:
            spec["replicas"] = 1

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """Labels that it takes away come back when the object is read."""
        super().prepare_status_update(obj, old, context)
        _label(obj)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj["spec"]
        errors = list(
            covered(
                checks.non_negative(spec.get("minReadySeconds"), SPEC.child("minReadySeconds")),
                "minimum",
            )
        )
        if not spec.get("selector"):
            errors.append(required(SPEC.child("selector")))
        errors += covered(
            checks.non_negative(spec.get("replicas"), SPEC.child("replicas")), "minimum"
        )
        return errors + list(_template(spec))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return list(replica_counts(obj.get("status") or {}, "observedGeneration"))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        """An update is warned of what the template was: kube-apiserver takes one for the other."""
        if old is None:
            return name_for_pods(obj) + super().warnings(obj, None, context)
        if obj["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return podwarnings.template(old["spec"].get("template"), _TEMPLATE)

    def selector_text(self, selector: Mapping[str, Any] | None) -> str:
        return "" if not selector else selectors.show_labels(selector)

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return replica_cells(obj, now, selectors.show_labels(obj["spec"].get("selector")))

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"status.replicas": str((obj.get("status") or {}).get("replicas", 0))}


def _template(spec: Mapping[str, Any]) -> checks.Errors:
    template, selector = spec.get("template"), spec.get("selector") or {}
    if template is None:
        yield required(_TEMPLATE)
        return
    labels = (template.get("metadata") or {}).get("labels")
    if any((labels or {}).get(k) != v for k, v in selector.items()):
        yield invalid(
            _TEMPLATE.child("metadata", "labels"),
            labels,
            "`selector` does not match template `labels`",
        )
    yield from templates.pod_template(template, _TEMPLATE)
    yield from templates.always_running(template, _TEMPLATE, "ReplicationController")


def _label(obj: Object) -> Mapping[str, str]:
    """Without labels of its own it has those of its pods, which are returned."""
    template = obj["spec"].get("template") or {}
    labels: Mapping[str, str] = (template.get("metadata") or {}).get("labels") or {}
    if labels:
        obj["metadata"]["labels"] = obj["metadata"].get("labels") or dict(labels)
    return labels
