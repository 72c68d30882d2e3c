"""Pod: strategy, validation and table (k8s.io/kubernetes ``registry/core/pod/strategy.go``).
Updates are in podupdate.py."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, forbidden
from apiserver.kinds.base import STATUS_KEEPS_METADATA, Kind, WriteContext, keep_metadata
from apiserver.kinds.common import (
    apparmor,
    checks,
    containers,
    disabled,
    podannotations,
    poddefaults,
    podresources,
    podspec,
    podwarnings,
)
from apiserver.kinds.common.objectmeta import drop_annotations
from apiserver.kinds.core import podresize, podstatus, podtable, podupdate
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.times import format_time

SPEC = checks.root("spec")
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "lastProbeTime": None,
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


@register("", "Pod")
class Pod(Kind):
    status = True
    status_keeps = ("ownerReferences",)
    returns_deleted = True
    graceful = True
    unprinted = frozenset({"ephemeralcontainers", "resize"})

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        drop_annotations(obj["metadata"], poddefaults.INIT_ANNOTATIONS)
        poddefaults.default_pod(spec)
        poddefaults.default_pod_spec(spec)
        if spec["terminationGracePeriodSeconds"] < 0:
            # Only in pods: templates keep what they were given.
            spec["terminationGracePeriodSeconds"] = 1
        podstatus.default_status(obj.setdefault("status", {}))

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        spec = obj["spec"]
        disabled.drop(spec)
        obj["metadata"]["generation"] = 1
        obj["status"] = {"phase": "Pending", "qosClass": podresources.qos_class(spec)}
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [
                {**_GATED, "lastTransitionTime": format_time(context.now)}
            ]
        merge_label_keys(spec, obj["metadata"].get("labels") or {})
        apparmor.fields_from_annotations(obj, context.warn)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        disabled.drop(obj["spec"], old["spec"])
        obj["status"] = copy_json(old.get("status", {}))
        self.count_generation(obj, old)

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_status_update(obj, old, context)
        obj["metadata"].pop("deletionTimestamp", None)  # one that is set is inherited after this
        podstatus.prepare(obj, old)
        disabled.drop_status(obj["status"])

    def prepare_subresource_update(
        self, subresource: str, obj: Object, old: Object, context: WriteContext
    ) -> None:
        """/ephemeralcontainers and /resize change one part of the spec, and of the metadata
        what /status does."""
        if subresource == "resize":
            if not podresize.keep_all_but_resources(obj, old):
                return
        else:
            added = obj["spec"].get("ephemeralContainers")
            obj["spec"] = {
                **copy_json(old["spec"]),
                **({"ephemeralContainers": added} if added else {}),
            }
            if not added:
                obj["spec"].pop("ephemeralContainers", None)
            disabled.drop(obj["spec"], old["spec"])
        obj["status"] = copy_json(old.get("status", {}))
        keep_metadata(obj["metadata"], old["metadata"], STATUS_KEEPS_METADATA)
        self.count_generation(obj, old)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(pod(obj))

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_created(obj))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(podupdate.validate(obj, old))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return list(podstatus.validate(obj, old))

    def validate_subresource_update(
        self, subresource: str, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        errors = list(pod(obj))
        if subresource == "resize":
            return list(podresize.refusal(old)) or errors + list(podresize.validate(obj, old))
        return errors + list(podupdate.ephemeral_containers(obj, old))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        """Only on create: people seldom update pods, controllers often do."""
        if old is not None:
            return podstatus.warnings(obj) if context.subresource == "status" else []
        texts = []
        wrong = names.dns1123_label(obj["metadata"].get("name", ""))
        if wrong:
            why = (
                "this is used in the Pod's hostname, which can result in surprising "
                "behavior; a DNS label is recommended"
            )
            texts.append(f"metadata.name: {why}: [{' '.join(wrong)}]")
        return texts + list(podwarnings.pod(obj, FieldPath("")))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return podtable.cells(obj, now)

    def row_conditions(self, obj: Object) -> list[Object]:
        return podtable.conditions(obj)

    def fields(self, obj: Object) -> Mapping[str, str]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        addresses = status.get("podIPs") or [{"ip": status.get("podIP", "")}]
        return {
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.restartPolicy": spec.get("restartPolicy", ""),
            "spec.schedulerName": spec.get("schedulerName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase", ""),
            "status.podIP": addresses[0].get("ip", ""),
            "status.podIPs": "",  # which upstream takes for a field, and never fills in
            "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        }

    def field_alias(self, version: str, name: str) -> str:
        return "spec.nodeName" if name == "spec.host" else name

    def grace_period(self, obj: Object, requested: int | None) -> int | None:
        """A pod that runs nowhere, or has ended, goes at once."""
        spec, phase = obj.get("spec") or {}, (obj.get("status") or {}).get("phase")
        if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
            return 0
        period = spec.get("terminationGracePeriodSeconds") if requested is None else requested
        return 1 if (period or 0) < 0 else period or 0


def pod(obj: Object) -> checks.Errors:
    """What holds for every pod, new or changed (validatePodMetadataAndSpec)."""
    metadata, spec = obj["metadata"], obj["spec"]
    annotations = metadata.get("annotations")
    yield from podannotations.validate(annotations, spec, checks.root("metadata", "annotations"))
    static = podannotations.MIRROR in (annotations or {})
    yield from podspec.pod_spec(spec, SPEC, metadata.get("name", ""), in_pod=True, static=static)
    if not spec.get("serviceAccountName"):
        for i, volume in enumerate(spec.get("volumes") or ()):
            for j, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if source.get("serviceAccountToken") is not None:
                    at = (
                        SPEC.child("volumes")
                        .at(i)
                        .child("projected", "sources")
                        .at(j)
                        .child("serviceAccountToken")
                    )
                    yield forbidden(at, "must not be specified when serviceAccountName is not set")
    for name in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(name) or ()):
            yield from containers.image_without_padding(container, SPEC.child(name).at(i))


def _created(obj: Object) -> checks.Errors:
    spec, annotations = obj["spec"], obj["metadata"].get("annotations")
    if spec.get("ephemeralContainers"):
        yield forbidden(SPEC.child("ephemeralContainers"), "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden(
            SPEC.child("nodeName"), "cannot be set until all schedulingGates have been cleared"
        )
    yield from podannotations.match_fields(annotations, spec, SPEC)


def merge_label_keys(spec: Object, labels: Mapping[str, str]) -> None:
    """matchLabelKeys and mismatchLabelKeys become requirements with the pod's own values (KEP-3633,
    KEP-3243)."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms = list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        terms += [
            w.get("podAffinityTerm") or {}
            for w in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ]
        for term in terms:
            _merge(term, "matchLabelKeys", "In", labels)
            _merge(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge(constraint, "matchLabelKeys", "In", labels)


def _merge(term: Object, field: str, operator: str, labels: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    added = [
        {"key": k, "operator": operator, "values": [labels[k]]}
        for k in term.get(field) or ()
        if k in labels
    ]
    if selector is not None and added:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]
