"""StatefulSet (k8s.io/kubernetes ``registry/apps/statefulset``, ``apis/apps/v1/defaults.go``).

Three rules came late upstream (1.33 and 1.34), so what is stored may break them: the service's
name, the claim templates (neither can change, hence only new objects are asked) and the pods' spec
(asked on update where the stored object is right).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, invalid, not_supported
from apiserver.kinds.apps.selected import required_selector
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import (
    checks,
    claims,
    namerules,
    podannotations,
    podwarnings,
    rollout,
    selectors,
    table,
)
from apiserver.kinds.common.alike import alike
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.templates import always_running, pod_template
from apiserver.kinds.common.workload import SPEC, STATUS, Workload
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.schema.labelselector import validate_labels

_APPS = "apps.v1."
_UPDATE = SPEC.child("updateStrategy")
_COUNTED = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', "
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


@register("apps", "StatefulSet")
class StatefulSet(Workload):
    metadata_again = False
    name_rule = staticmethod(namerules.dns_label)

    def default(self, obj: Object, version: str) -> None:
        super().default(obj, version)
        spec = obj["spec"]
        spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            if strategy.get("rollingUpdate") is None:
                strategy["rollingUpdate"] = {"partition": 0}
        rolling = strategy.get("rollingUpdate")
        if (
            strategy["type"] == "RollingUpdate"
            and rolling is not None
            and rolling.get("partition") is None
        ):
            rolling["partition"] = 0
        policy = spec["persistentVolumeClaimRetentionPolicy"] = (
            spec.get("persistentVolumeClaimRetentionPolicy") or {}
        )
        for field in ("whenDeleted", "whenScaled"):
            policy[field] = policy.get(field) or "Retain"
        for field, value in (("replicas", 1), ("revisionHistoryLimit", 10)):
            if spec.get(field) is None:
                spec[field] = value
        for claim in spec.get("volumeClaimTemplates") or ():
            _default_claim(claim)

    def drop_disabled(self, obj: Object) -> None:
        """maxUnavailable comes with the feature MaxUnavailableStatefulSet."""
        super().drop_disabled(obj)
        rolling = (obj["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
        rolling.pop("maxUnavailable", None)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj["spec"]
        errors = list(_policies(spec))
        errors += checks.non_negatives(spec, SPEC, "replicas", "minReadySeconds")
        errors += checks.non_negative(
            (spec.get("ordinals") or {}).get("start"), SPEC.child("ordinals.start")
        )
        errors += required_selector(
            spec.get("selector"), "empty selector is invalid for statefulset"
        )
        return errors + list(_template(spec))

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj["spec"]
        errors: FieldErrors = []
        if spec.get("serviceName"):
            errors += checks.dns_label(spec["serviceName"], SPEC.child("serviceName"))
        for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            errors += claims.claim_spec(
                claim.get("spec") or {}, SPEC.child("volumeClaimTemplates").at(i).child("spec")
            )
        return errors + list(_pods(spec))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        was_right = not (self.validate(old, context) or any(True for _ in _pods(old["spec"])))
        return [*(_pods(obj["spec"]) if was_right else ()), *_changes(obj, old)]

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        status = obj.get("status") or {}
        errors = list(
            checks.non_negatives(
                status, STATUS, "replicas", *_COUNTED, "observedGeneration", "collisionCount"
            )
        )
        errors += rollout.counters(
            status, STATUS, *_COUNTED, ready="cannot be greater than status.readyReplicas"
        )
        return errors + list(rollout.not_decremented(status, old.get("status") or {}, STATUS))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if context.subresource == "status":
            return []
        spec = obj["spec"]
        texts = super().warnings(obj, old, context)
        for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            at = SPEC.child("volumeClaimTemplates").at(i)
            # Creates and updates name the place differently upstream, too.
            at = at if old is None else at.child("Spec")
            texts += podwarnings.claim_amounts(claim.get("spec") or {}, at)
        if spec.get("revisionHistoryLimit") is not None and spec["revisionHistoryLimit"] < 0:
            texts.append(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; a "
                "value >= 0 is recommended"
            )
        return texts

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        spec, status = obj["spec"], obj.get("status") or {}
        ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
        return [
            table.name(obj),
            ready,
            table.created(obj, now),
            *table.containers((spec.get("template") or {}).get("spec") or {}),
        ]


def _default_claim(claim: Object) -> None:
    """A claim template is a whole object: its kind is always written, its status begins."""
    claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
    claim.setdefault("metadata", {})
    claims.default_claim_spec(claim.setdefault("spec", {}))
    claims.default_claim_status(claim.setdefault("status", {}))


def _policies(spec: Mapping[str, Any]) -> checks.Errors:
    management, strategy = spec.get("podManagementPolicy"), spec.get("updateStrategy") or {}
    if management not in ("OrderedReady", "Parallel"):
        yield invalid(
            SPEC.child("podManagementPolicy"), management, "must be 'OrderedReady' or 'Parallel'"
        )
    rolling, path = strategy.get("rollingUpdate"), _UPDATE.child("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            if rolling is not None:
                rolling_text = quote(f"{_APPS}RollingUpdateStatefulSetStrategy", rolling)
                yield invalid(path, rolling_text, "only allowed for updateStrategy 'RollingUpdate'")
        case "RollingUpdate":
            if rolling is not None:
                yield from _rolling(rolling, path)
        case _:
            strategy_text = quote(f"{_APPS}StatefulSetUpdateStrategy", strategy)
            yield invalid(_UPDATE, strategy_text, "must be 'RollingUpdate' or 'OnDelete'")
    policy, at = (
        spec.get("persistentVolumeClaimRetentionPolicy") or {},
        SPEC.child("persistentVolumeClaimRetentionPolicy"),
    )
    for field in ("whenDeleted", "whenScaled"):
        if policy.get(field) not in ("Retain", "Delete"):
            yield not_supported(at.child(field), policy.get(field), ["Retain", "Delete"])


def _rolling(rolling: Mapping[str, Any], path: FieldPath) -> checks.Errors:
    yield from checks.non_negative(rolling.get("partition"), path.child("partition"))


def _changes(obj: Object, old: Object) -> checks.Errors:
    def fixed(o: Object) -> Object:
        return {k: v for k, v in o["spec"].items() if k not in _MUTABLE}

    if not alike("apps.v1.StatefulSetSpec", fixed(obj), fixed(old)):
        yield forbidden(SPEC, _FIXED)


def _pods(spec: Mapping[str, Any]) -> checks.Errors:
    """The template as pods will have it: each claim template is a volume, in place of one of the
    same name, and a pod's host name and subdomain are the set's choice."""
    if selectors.problem(spec.get("selector")):
        return  # which is told instead of the template
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    names = dict.fromkeys(
        (c.get("metadata") or {}).get("name", "") for c in spec.get("volumeClaimTemplates") or ()
    )
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    volumes += [v for v in pod.get("volumes") or () if v.get("name", "") not in names]
    pod = {k: v for k, v in pod.items() if k not in ("hostname", "subdomain")}
    yield from pod_template(
        {**template, "spec": {**pod, "volumes": volumes}}, SPEC.child("template")
    )


def _template(spec: Mapping[str, Any]) -> checks.Errors:
    """What was always asked of the template; some of it is asked again with the pods' spec."""
    template, selector, path = (
        spec.get("template") or {},
        spec.get("selector"),
        SPEC.child("template"),
    )
    metadata, pod = template.get("metadata") or {}, template.get("spec") or {}
    if selectors.problem(selector):
        yield invalid(SPEC.child("selector"), selectors.quoted(selector or {}), "")
    else:
        if not selectors.matches(selector, metadata.get("labels")) and not (
            selector is not None and selectors.is_empty(selector)
        ):
            yield invalid(
                path.child("metadata", "labels"),
                metadata.get("labels"),
                "`selector` does not match template `labels`",
            )
        yield from validate_labels(metadata.get("labels"), path.child("labels"))
        yield from checks.annotation_map(metadata.get("annotations"), path.child("annotations"))
        yield from podannotations.validate(
            metadata.get("annotations"), pod, path.child("annotations")
        )
    yield from always_running(template, path, "StatefulSet")
