"""Which checks each level has in each version, and what they say together of a pod
(k8s.io/pod-security-admission ``policy/registry.go``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from admission.podsecurity import baseline, restricted
from admission.podsecurity.pods import Check, Pod, Violation
from admission.podsecurity.policy import Level, LevelVersion

NEWEST = 36
"""The minor version of Kubernetes that this server is: later ones, and the latest, mean this."""

_KEEPALIVE = ("time", "intvl", "probes")
_SYSCTLS_27 = ("net.ipv4.ip_local_reserved_ports",)
_SYSCTLS_29 = (
    *_SYSCTLS_27,
    *(f"net.ipv4.tcp_keepalive_{name}" for name in _KEEPALIVE),
    "net.ipv4.tcp_fin_timeout",
)
_SYSCTLS_32 = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")

Versions = Mapping[int, Check]
"""Since which minor version a check is what."""

_BASELINE: Mapping[str, Versions] = {
    "appArmorProfile": {0: baseline.app_armor},
    "capabilities_baseline": {0: baseline.capabilities},
    "hostNamespaces": {0: baseline.host_namespaces},
    "hostPathVolumes": {0: baseline.host_path_volumes},
    "hostPorts": {0: baseline.host_ports},
    "hostProbesAndHostLifecycle": {34: baseline.probe_hosts},
    "privileged": {0: baseline.privileged},
    "procMount": {0: baseline.proc_mount, 35: baseline.proc_mount_of_users},
    "seLinuxOptions": {0: baseline.selinux(), 31: baseline.selinux("container_engine_t")},
    "seccompProfile_baseline": {0: baseline.seccomp_annotations, 19: baseline.seccomp},
    "sysctls": {
        0: baseline.sysctls(),
        27: baseline.sysctls(*_SYSCTLS_27),
        29: baseline.sysctls(*_SYSCTLS_29),
        32: baseline.sysctls(*_SYSCTLS_32),
    },
    "windowsHostProcess": {0: baseline.host_process},
}
"""By name, in the order in which their violations are told."""

_RESTRICTED: Mapping[str, Versions] = {
    "allowPrivilegeEscalation": {
        8: restricted.privilege_escalation,
        25: restricted.but_on_windows(restricted.privilege_escalation),
    },
    "capabilities_restricted": {
        22: restricted.capabilities,
        25: restricted.but_on_windows(restricted.capabilities),
    },
    "procMount_restricted": {35: baseline.proc_mount},
    "restrictedVolumes": {0: restricted.volumes},
    "runAsNonRoot": {0: restricted.non_root, 35: restricted.but_for_users(restricted.non_root)},
    "runAsUser": {23: restricted.root_user, 35: restricted.but_for_users(restricted.root_user)},
    "seccompProfile_restricted": {
        19: restricted.seccomp,
        25: restricted.but_on_windows(restricted.seccomp),
    },
}
_OVERRIDES = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}
"""Which check of the baseline a restricted one stands for, in the versions that have it."""


class Verdict(NamedTuple):
    """What is wrong with a pod; nothing if there are no violations."""

    violations: Sequence[Violation]

    @property
    def reason(self) -> str:
        return ", ".join(v.reason for v in self.violations)

    @property
    def detail(self) -> str:
        return ", ".join(
            f"{v.reason} ({v.detail})" if v.detail else v.reason for v in self.violations
        )


def evaluate(level: LevelVersion, pod: Pod) -> Verdict:
    minor = NEWEST if level.minor is None else min(level.minor, NEWEST)
    results = (check(pod) for check in _checks(level.level, minor))
    return Verdict([violation for violation in results if violation is not None])


@cache
def _checks(level: Level, minor: int) -> Sequence[Check]:
    """Those of the baseline first. At most a hundred combinations: ``minor`` is bounded."""
    if level < Level.BASELINE:
        return ()
    hardening = _of(_RESTRICTED, minor) if level == Level.RESTRICTED else {}
    overridden = {_OVERRIDES[name] for name in hardening if name in _OVERRIDES}
    common = {n: check for n, check in _of(_BASELINE, minor).items() if n not in overridden}
    return (*common.values(), *hardening.values())


def _of(checks: Mapping[str, Versions], minor: int) -> Mapping[str, Check]:
    current: dict[str, Check] = {}
    for name, versions in checks.items():
        since = [first for first in versions if first <= minor]
        if since:
            current[name] = versions[max(since)]
    return current
