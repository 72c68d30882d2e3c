"""Whether an object falls under the scopes of a ResourceQuota (kubernetes
``pkg/quota/v1/evaluator/core``)."""

from __future__ import annotations

from admission.plugins.quota_usage import CLAIMS, PODS
from apiserver.kinds.common.podresources import qos_class
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object


def in_scope(quota: Object, resource: GroupResource, obj: Object) -> bool:
    """All scopes of the quota must fit. Scopes are about pods and claims; nothing else has any."""
    return all(fits(requirement, resource, obj) for requirement in requirements(quota))


def requirements(quota: Object) -> list[Object]:
    """spec.scopes and spec.scopeSelector as one list of requirements."""
    spec = quota.get("spec") or {}
    listed: list[Object] = [
        {"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or []
    ]
    return listed + ((spec.get("scopeSelector") or {}).get("matchExpressions") or [])


def is_terminating(pod: Object) -> bool:
    return (pod.get("spec") or {}).get("activeDeadlineSeconds") is not None


def fits(requirement: Object, resource: GroupResource, obj: Object) -> bool:
    """Of one scope."""
    if resource == CLAIMS:
        return requirement.get("scopeName") == "VolumeAttributesClass" and _chosen(
            requirement, _attributes_classes(obj)
        )
    if resource != PODS:
        return False
    spec = obj.get("spec") or {}
    match requirement.get("scopeName"):
        case "Terminating":
            return is_terminating(obj)
        case "NotTerminating":
            return not is_terminating(obj)
        case "BestEffort":
            return qos_class(spec) == "BestEffort"
        case "NotBestEffort":
            return qos_class(spec) != "BestEffort"
        case "PriorityClass":
            return _chosen(
                requirement, {spec["priorityClassName"]} if spec.get("priorityClassName") else set()
            )
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(spec)
    return False


def _attributes_classes(claim: Object) -> set[str]:
    """The class that is asked for, and those that are in effect or on the way."""
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    classes = {
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return {name for name in classes if name}


def _chosen(requirement: Object, names: set[str]) -> bool:
    values = set(requirement.get("values") or [])
    match requirement.get("operator"):
        case "Exists":
            return bool(names)
        case "DoesNotExist":
            return not names
        case "In":
            return bool(names & values)
        case _:
            return not names & values


def _crosses_namespaces(spec: Object) -> bool:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        preferred = [
            t.get("podAffinityTerm") or {}
            for t in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        ]
        for term in [
            *(terms.get("requiredDuringSchedulingIgnoredDuringExecution") or []),
            *preferred,
        ]:
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False
