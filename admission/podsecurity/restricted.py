"""The checks of level ``restricted``: what hardening asks of a pod (k8s.io/pod-security-admission
``policy``, check_*.go)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from admission.podsecurity.baseline import added_capabilities
from admission.podsecurity.baseline import seccomp as forbidden_seccomp
from admission.podsecurity.pods import Check, Pod, Violation, containers_of, plural, quoted

_VOLUMES = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image"),
    *("persistentVolumeClaim", "projected", "secret"),
)
_RESTRICTED_VOLUMES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi"),
    *("glusterfs", "rbd", "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile"),
    *("vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume"),
    *("scaleIO", "storageos"),
)


def but_on_windows(check: Check) -> Check:
    """What Windows does not know cannot be asked for there."""
    return lambda pod: None if pod.windows else check(pod)


def but_for_users(check: Check) -> Check:
    """In a user namespace root is not root."""
    return lambda pod: None if pod.in_user_namespace else check(pod)


def privilege_escalation(pod: Pod) -> Violation | None:
    names = pod.where(lambda context: context.get("allowPrivilegeEscalation") is not False)
    if not names:
        return None
    return Violation(
        "allowPrivilegeEscalation != false",
        f"{containers_of(names)} must set securityContext.allowPrivilegeEscalation=false",
    )


def capabilities(pod: Pod) -> Violation | None:
    def keeps(context: Mapping[str, Any]) -> bool:
        return "ALL" not in ((context.get("capabilities") or {}).get("drop") or ())

    details = []
    if names := pod.where(keeps):
        details.append(f'{containers_of(names)} must set securityContext.capabilities.drop=["ALL"]')
    names, added = pod.having(lambda context: added_capabilities(context) - {"NET_BIND_SERVICE"})
    if names:
        details.append(
            f"{containers_of(names)} must not include {quoted(added)} in "
            f"securityContext.capabilities.add"
        )
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def volumes(pod: Pod) -> Violation | None:
    names, kinds = [], set()
    for volume in pod.spec.get("volumes") or ():
        if all(volume.get(kind) is None for kind in _VOLUMES):
            names.append(volume["name"])
            of = (kind for kind in _RESTRICTED_VOLUMES if volume.get(kind) is not None)
            kinds.add(next(of, "unknown"))
    if not names:
        return None
    return Violation(
        "restricted volume types",
        f"{plural('volume', names)} {quoted(names)} {plural('uses', names, 'use')} "
        f"{plural('restricted volume type', kinds)} {quoted(sorted(kinds))}",
    )


def non_root(pod: Pod) -> Violation | None:
    reason, member = "runAsNonRoot != true", "runAsNonRoot"
    if setters := pod.setters(lambda context: context.get(member) is False):
        return Violation(reason, f"{setters} must not set securityContext.{member}=false")
    if pod.context.get(member):
        return None
    if not (names := pod.where(lambda context: context.get(member) is None)):
        return None
    detail = f"pod or {containers_of(names)} must set securityContext.{member}=true"
    return Violation(reason, detail)


def root_user(pod: Pod) -> Violation | None:
    if not (setters := pod.setters(lambda context: context.get("runAsUser") == 0)):
        return None
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0")


def seccomp(pod: Pod) -> Violation | None:
    if (violation := forbidden_seccomp(pod)) is not None:
        return violation
    if pod.context.get("seccompProfile") is not None:
        return None
    if not (names := pod.where(lambda context: context.get("seccompProfile") is None)):
        return None
    return Violation(
        "seccompProfile",
        f"pod or {containers_of(names)} must set securityContext.seccompProfile.type to "
        f'"RuntimeDefault" or "Localhost"',
    )
