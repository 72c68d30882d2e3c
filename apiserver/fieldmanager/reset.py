"""Fields that a write cannot set, and so must not own: status through the object itself, the rest
through status.

kube-apiserver keeps these sets beside each strategy (``GetResetFields`` in ``pkg/registry``). They
follow one rule with old exceptions: where there is a status subresource, the object's own writes
own no status, and writes of status own neither spec nor metadata. The filters of pods'
ephemeralcontainers and resize are of no effect there: their endpoints do not pass them on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apiserver.fieldmanager.fieldpath import Filter, Path, exclude, path_of, set_of
from apiserver.meta.gvk import GroupResource

Filters = Mapping[str, Mapping[str, Filter]]
"""subresource ("" for the object itself) → apiVersion → filter."""

_STATUS, _SPEC, _METADATA = path_of("status"), path_of("spec"), path_of("metadata")

_STATUS_WRITES_METADATA: Mapping[GroupResource, tuple[Path, ...]] = {
    GroupResource("", "namespaces"): (),
    GroupResource("", "nodes"): (),
    GroupResource("", "persistentvolumeclaims"): (),
    GroupResource("", "persistentvolumes"): (),
    GroupResource("", "pods"): (
        path_of("metadata", "deletionTimestamp"),
        path_of("metadata", "ownerReferences"),
    ),
    GroupResource("", "replicationcontrollers"): (),
    GroupResource("", "resourcequotas"): (),
    GroupResource("", "services"): (),
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"): (),
    GroupResource("apps", "daemonsets"): (),
    GroupResource("apps", "deployments"): (path_of("metadata", "labels"),),
    GroupResource("apps", "replicasets"): (),
    GroupResource("apps", "statefulsets"): (),
    GroupResource("autoscaling", "horizontalpodautoscalers"): (),
    GroupResource("batch", "cronjobs"): (),
    GroupResource("batch", "jobs"): (),
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): (
        path_of("status", "conditions"),
    ),
    GroupResource("networking.k8s.io", "ingresses"): (),
    GroupResource("policy", "poddisruptionbudgets"): (),
}
"""Kinds older than the rule: writes of their status set metadata. What they reset besides spec."""

_OTHERS: Mapping[GroupResource, Mapping[str, Filter]] = {
    GroupResource("", "namespaces"): {"finalize": exclude(set_of(_STATUS))},
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): {
        "": exclude(set_of(_SPEC, _STATUS)),
        "approval": exclude(set_of(_SPEC, path_of("status", "certificate"))),
    },
}


def built_in(
    resource: GroupResource, api_versions: Iterable[str], subresources: Iterable[str]
) -> Filters:
    """The filters of a built-in resource, the same in each of its versions."""
    subresources = set(subresources)
    by_subresource: dict[str, Filter] = {}
    if "status" in subresources:
        by_subresource[""] = exclude(set_of(_STATUS))
        by_subresource["status"] = exclude(
            set_of(_SPEC, *_STATUS_WRITES_METADATA.get(resource, (_METADATA,)))
        )
    by_subresource |= {
        name: keep
        for name, keep in _OTHERS.get(resource, {}).items()
        if not name or name in subresources
    }
    versions = list(api_versions)
    return {name: dict.fromkeys(versions, keep) for name, keep in by_subresource.items()}


def custom(api_versions_with_status: Iterable[str]) -> Filters:
    """The filters of a custom resource; versions without the status subresource own status as any
    other field."""
    versions = list(api_versions_with_status)
    return {
        "": dict.fromkeys(versions, exclude(set_of(_STATUS))),
        "status": dict.fromkeys(versions, exclude(set_of(_METADATA, _SPEC))),
    }
