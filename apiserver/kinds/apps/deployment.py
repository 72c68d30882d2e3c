"""Deployment (k8s.io/kubernetes ``registry/apps/deployment``, ``apis/apps/v1/defaults.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, forbidden, invalid, not_supported, required
from apiserver.golang.strconv import NumError, parse_int
from apiserver.kinds.apps.selected import replica_set_template, required_selector, selector_kept
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks, rollout, selectors, table
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.objectmeta import drop_annotations, without_annotations
from apiserver.kinds.common.workload import SPEC, STATUS, Workload, name_for_pods
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.schema.decode import DecodeError

_STRATEGY = SPEC.child("strategy")
_ROLLBACK = "deprecated.deployment.rollback.to"
_COUNTED = ("updatedReplicas", "readyReplicas", "availableReplicas")


@register("apps", "Deployment")
class Deployment(Workload):
    metadata_again = False
    status_keeps = ("labels",)

    def default(self, obj: Object, version: str) -> None:
        super().default(obj, version)
        _default_rollback(obj["metadata"])
        spec = obj["spec"]
        for field, value in (
            ("replicas", 1),
            ("revisionHistoryLimit", 10),
            ("progressDeadlineSeconds", 600),
        ):
            if spec.get(field) is None:
                spec[field] = value
        strategy = spec.setdefault("strategy", {})
        strategy["type"] = strategy.get("type") or "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy["rollingUpdate"] = strategy.get("rollingUpdate") or {}
            for field in ("maxUnavailable", "maxSurge"):
                if rolling.get(field) is None:
                    rolling[field] = "25%"

    def count_generation(self, obj: Object, old: Object) -> None:
        """Annotations count too: the controller copies them to ReplicaSets."""
        super().count_generation(obj, old)
        changed = (obj["metadata"].get("annotations") or {}) != (
            old["metadata"].get("annotations") or {}
        )
        if obj["spec"] == old["spec"] and changed:
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj["spec"]
        errors = list(checks.non_negative(spec.get("replicas"), SPEC.child("replicas")))
        errors += required_selector(
            spec.get("selector"), "empty selector is invalid for deployment"
        )
        errors += replica_set_template(spec)
        errors += _strategy(spec["strategy"])
        errors += checks.non_negatives(spec, SPEC, "minReadySeconds", "revisionHistoryLimit")
        revision = (obj["metadata"].get("annotations") or {}).get(_ROLLBACK)
        if revision is not None:
            path = SPEC.child("rollback", "version")
            errors += checks.non_negative(parse_int(revision), path)
        errors += checks.non_negatives(spec, SPEC, "progressDeadlineSeconds")
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
            errors.append(
                invalid(
                    SPEC.child("progressDeadlineSeconds"),
                    deadline,
                    "must be greater than minReadySeconds",
                )
            )
        return errors

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(selector_kept(obj["spec"], old["spec"]))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        status = obj.get("status") or {}
        counted = (
            "replicas",
            *_COUNTED,
            "unavailableReplicas",
            "terminatingReplicas",
            "observedGeneration",
            "collisionCount",
        )
        errors = list(checks.non_negatives(status, STATUS, *counted))
        errors += rollout.counters(status, STATUS, *_COUNTED)
        return errors + list(rollout.not_decremented(status, old.get("status") or {}, STATUS))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        texts = name_for_pods(obj) if old is None else []
        return texts + super().warnings(obj, old, context)

    def unconverted(self, obj: Object) -> Object:
        return without_annotations(obj, {_ROLLBACK})

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
        counts = [status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
        pods = table.containers((spec.get("template") or {}).get("spec") or {})
        return [
            table.name(obj),
            ready,
            *counts,
            table.created(obj, now),
            *pods,
            selectors.show(spec.get("selector")),
        ]


def _default_rollback(metadata: Object) -> None:
    """The annotation is a number, or not there; it was a field of older versions. Raises
    DecodeError."""
    text = (metadata.get("annotations") or {}).get(_ROLLBACK)
    if text == "":
        drop_annotations(metadata, {_ROLLBACK})
    elif text is not None:
        try:
            metadata["annotations"][_ROLLBACK] = str(parse_int(text))
        except NumError as e:
            why = f"failed to parse annotation[{_ROLLBACK}]={text} as int64: {e}"
            raise DecodeError(why) from None


def _strategy(strategy: Mapping[str, Any]) -> checks.Errors:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                yield forbidden(
                    _STRATEGY.child("rollingUpdate"),
                    "may not be specified when strategy `type` is 'Recreate'",
                )
        case "RollingUpdate":
            if rolling is None:
                yield required(
                    _STRATEGY.child("rollingUpdate"), "this should be defaulted and never be nil"
                )
            else:
                yield from _rolling(rolling)
        case _:
            strategy_text = quote("apps.v1.DeploymentStrategy", strategy)
            yield not_supported(_STRATEGY, strategy_text, ["Recreate", "RollingUpdate"])


def _rolling(rolling: Mapping[str, Any]) -> checks.Errors:
    path = _STRATEGY.child("rollingUpdate")
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    yield from checks.percent_or_number(unavailable, path.child("maxUnavailable"))
    yield from checks.percent_or_number(surge, path.child("maxSurge"))
    if not rollout.value_of(unavailable) and not rollout.value_of(surge):
        yield invalid(
            path.child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0"
        )
    yield from checks.not_above_100_percent(unavailable, path.child("maxUnavailable"))
