"""ReplicaSet (k8s.io/kubernetes ``registry/apps/replicaset``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.apps.selected import replica_set_template, required_selector, selector_kept
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks, selectors
from apiserver.kinds.common.workload import (
    SPEC,
    Workload,
    name_for_pods,
    replica_cells,
    replica_counts,
)
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register("apps", "ReplicaSet")
class ReplicaSet(Workload):
    metadata_again = False

    def default(self, obj: Object, version: str) -> None:
        super().default(obj, version)
        if obj["spec"].get("replicas") is None:
            obj["spec"]["replicas"] = 1

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj["spec"]
        errors = list(checks.non_negatives(spec, SPEC, "replicas", "minReadySeconds"))
        # The message names the wrong kind upstream, too.
        errors += required_selector(
            spec.get("selector"), "empty selector is invalid for deployment"
        )
        return errors + list(replica_set_template(spec))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(selector_kept(obj["spec"], old["spec"]))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        status = obj.get("status") or {}
        return list(replica_counts(status, "observedGeneration", "terminatingReplicas"))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        texts = name_for_pods(obj) if old is None else []
        return texts + super().warnings(obj, old, context)

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return replica_cells(obj, now, selectors.show(obj["spec"].get("selector")))
