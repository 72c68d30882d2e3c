"""DaemonSet. Its template generation lives on in an annotation (k8s.io/kubernetes
``registry/apps/daemonset``, ``apis/apps/v1``)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid, not_supported, required
from apiserver.golang.strconv import NumError, parse_int
from apiserver.kinds.apps.selected import selector_kept
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks, rollout, selectors, table, templates
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.objectmeta import without_annotations
from apiserver.kinds.common.workload import SPEC, STATUS, Workload
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.schema.decode import DecodeError
from apiserver.schema.labelselector import validate_label_selector

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_UPDATE = SPEC.child("updateStrategy")
_COUNTED = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


@register("apps", "DaemonSet")
class DaemonSet(Workload):
    metadata_again = False

    def default(self, obj: Object, version: str) -> None:
        """The conversion of each version writes the annotation, so who writes an object without it
        owns it, with 0. Raises DecodeError for one that is no number."""
        super().default(obj, version)
        try:
            _set_template_generation(obj, _template_generation(obj))
        except NumError as e:
            raise DecodeError(str(e)) from None
        spec = obj["spec"]
        strategy = spec.setdefault("updateStrategy", {})
        strategy["type"] = strategy.get("type") or "RollingUpdate"
        rolls = strategy["type"] == "RollingUpdate"
        if rolls and strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
        rolling = strategy.get("rollingUpdate")
        if rolling is not None:  # of another type they come from the way through the internal one
            for field, value in (("maxUnavailable", int(rolls)), ("maxSurge", 0)):
                if rolling.get(field) is None:
                    rolling[field] = value
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        _set_template_generation(obj, max(1, _template_generation(obj)))

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_update(obj, old, context)
        changed = obj["spec"].get("template") != old["spec"].get("template")
        _set_template_generation(obj, _template_generation(old) + changed)

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """The annotation is made of the spec, which stays."""
        super().prepare_status_update(obj, old, context)
        _set_template_generation(obj, _template_generation(old))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        """Daemon sets go by the template's generation, not by the object's."""
        if old is not None and _template_generation(obj) == _template_generation(old):
            return []
        return super().warnings(obj, old, context)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj["spec"]
        selector, template, path = (
            spec.get("selector"),
            spec.get("template") or {},
            SPEC.child("template"),
        )
        errors = list(validate_label_selector(selector, SPEC.child("selector")))
        labels = (template.get("metadata") or {}).get("labels")
        if not selectors.problem(selector) and not selectors.matches(selector, labels):
            errors.append(
                invalid(
                    path.child("metadata", "labels"),
                    labels,
                    "`selector` does not match template `labels`",
                )
            )
        if selector is not None and selectors.is_empty(selector):
            errors.append(
                invalid(
                    SPEC.child("selector"),
                    selectors.quoted(selector),
                    "empty selector is invalid for daemonset",
                )
            )
        errors += templates.pod_template(template, path)
        errors += templates.always_running(template, path, "DaemonSet")
        errors += checks.non_negative(spec.get("minReadySeconds"), SPEC.child("minReadySeconds"))
        errors += _update_strategy(spec["updateStrategy"])
        return errors + list(
            checks.non_negative(
                spec.get("revisionHistoryLimit"), SPEC.child("revisionHistoryLimit")
            )
        )

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(selector_kept(obj["spec"], old["spec"]))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        status = obj.get("status") or {}
        errors = list(checks.non_negatives(status, STATUS, *_COUNTED))
        return errors + list(rollout.not_decremented(status, old.get("status") or {}, STATUS))

    def unconverted(self, obj: Object) -> Object:
        return without_annotations(obj, {TEMPLATE_GENERATION})

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        counted = (
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        )
        pods = (spec.get("template") or {}).get("spec") or {}
        nodes = selectors.show_labels(pods.get("nodeSelector"))
        selector_text = selectors.show(spec.get("selector"))
        return [
            table.name(obj),
            *(status.get(f, 0) for f in counted),
            nodes,
            table.created(obj, now),
            *table.containers(pods),
            selector_text,
        ]


def _template_generation(obj: Object) -> int:
    return parse_int(
        ((obj.get("metadata") or {}).get("annotations") or {}).get(TEMPLATE_GENERATION, "0")
    )


def _set_template_generation(obj: Object, generation: int) -> None:
    metadata = obj.setdefault("metadata", {})
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        TEMPLATE_GENERATION: str(generation),
    }


def _update_strategy(strategy: Mapping[str, Any]) -> checks.Errors:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            return
        case "RollingUpdate":
            if rolling is None:
                yield required(_UPDATE.child("rollingUpdate"))
            else:
                yield from _rolling(rolling)
        case _:
            strategy_text = quote("apps.v1.DaemonSetUpdateStrategy", strategy)
            yield not_supported(_UPDATE, strategy_text, ["RollingUpdate", "OnDelete"])


def _rolling(rolling: Mapping[str, Any]) -> checks.Errors:
    """Either extra pods or missing ones, never both."""
    path = _UPDATE.child("rollingUpdate")
    for check in (checks.percent_or_number, checks.not_above_100_percent):
        for field in ("maxUnavailable", "maxSurge"):
            yield from check(rolling.get(field), path.child(field))
    unavailable, surge = (
        rollout.value_of(rolling.get("maxUnavailable")),
        rollout.value_of(rolling.get("maxSurge")),
    )
    if unavailable and surge:
        yield invalid(
            path.child("maxSurge"),
            rolling.get("maxSurge"),
            "may not be set when maxUnavailable is non-zero",
        )
    if not unavailable and not surge:
        yield required(path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
