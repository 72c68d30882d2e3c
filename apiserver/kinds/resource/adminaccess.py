"""Admin access to devices: who asks for it in a ResourceClaim or a ResourceClaimTemplate needs a
namespace that a label opens for it (kubernetes ``pkg/registry/resource`` utils.go)."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.fielderrors import FieldError, FieldPath, forbidden
from apiserver.meta.objects import ReadOnlyObject

LABEL = "resource.kubernetes.io/admin-access"
_REQUESTS = FieldPath("spec.devices.requests")
_RESULTS = FieldPath("status.allocation.devices.results")


def asked_for(spec: ReadOnlyObject) -> FieldPath | None:
    """By the first request of a claim's spec that does; of a template too the path is that of a
    claim, as kube-apiserver names it."""
    for i, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            return _REQUESTS.at(i).child("adminAccess")
    return None


def granted_anew(status: ReadOnlyObject, old: ReadOnlyObject) -> FieldPath | None:
    """By the first result of a claim's status that does, where the old one did not: an allocation
    does not change."""
    return None if _granted(old) is not None else _granted(status)


def _granted(status: ReadOnlyObject) -> FieldPath | None:
    devices = (status.get("allocation") or {}).get("devices") or {}
    for i, result in enumerate(devices.get("results") or ()):
        if result.get("adminAccess"):
            return _RESULTS.at(i).child("adminAccess")
    return None


def refusal(path: FieldPath, labels: Mapping[str, str]) -> FieldError | None:
    """``labels``: of the namespace."""
    if labels.get(LABEL) == "true":
        return None
    return forbidden(
        path,
        f"admin access to devices requires the `{LABEL}: true` label on the containing namespace",
    )
