"""Every check of the Pod Security Standards, what it says, and since which version."""

from __future__ import annotations

from typing import Any

import pytest

from admission.podsecurity.evaluate import evaluate
from admission.podsecurity.pods import Pod
from admission.podsecurity.policy import Level, LevelVersion
from apiserver.meta.objects import Object

GOOD: Object = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What level restricted asks of a container."""


def pod(context: Object | None = None, container: Object | None = None, **spec: Any) -> Pod:
    """With one container ``c``; context: its securityContext beside what is asked for."""
    containers = [
        {"name": "c", "securityContext": {**GOOD, **(context or {})}, **(container or {})}
    ]
    return Pod({"annotations": spec.pop("annotations", {})}, {"containers": containers, **spec})


def detail(one: Pod, level: Level = Level.RESTRICTED, minor: int | None = None) -> str:
    return evaluate(LevelVersion(level, minor), one).detail


def test_a_hardened_pod_passes() -> None:
    assert detail(pod()) == ""


BASELINE = [
    (pod({"appArmorProfile": {"type": "Unconfined"}}), 0, "forbidden AppArmor profile (container "
     '"c" must not set AppArmor profile type to "Unconfined")'),
    (pod(annotations={"container.apparmor.security.beta.kubernetes.io/c": "x"}), 0,
     "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
     '"container.apparmor.security.beta.kubernetes.io/c="x"")'),
    (pod({"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN", "KILL"]}}), 0,
     'non-default capabilities (container "c" must not include "SYS_ADMIN" in '
     "securityContext.capabilities.add)"),
    (pod(hostNetwork=True, hostIPC=True), 0, "host namespaces (hostNetwork=true, hostIPC=true)"),
    (pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), 0, 'hostPath volumes (volume "v")'),
    (pod(container={"ports": [{"hostPort": 80}, {"hostPort": 443}]}), 0,
     'hostPort (container "c" uses hostPorts 443, 80)'),
    (pod(container={"livenessProbe": {"httpGet": {"host": "h"}}}), 34,
     'probe or lifecycle host (container "c" uses probe or lifecycle host "h")'),
    (pod(container={"lifecycle": {"preStop": {"tcpSocket": {"host": "h"}}}}), 34,
     'probe or lifecycle host (container "c" uses probe or lifecycle host "h")'),
    (pod({"privileged": True}), 0,
     'privileged (container "c" must not set securityContext.privileged=true)'),
    (pod({"procMount": "Unmasked"}), 0,
     'procMount (container "c" must not set securityContext.procMount to "Unmasked")'),
    (pod({"seLinuxOptions": {"type": "x", "user": "u", "role": "r"}}), 0,
     'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "x"; user '
     "may not be set; role may not be set)"),
    (pod(securityContext={"seccompProfile": {"type": "Unconfined"}}), 19,
     'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")'),
    (pod(securityContext={"sysctls": [{"name": "a"}, {"name": "b"}]}), 0,
     "forbidden sysctls (a, b)"),
    (pod({"windowsOptions": {"hostProcess": True}},
         securityContext={"windowsOptions": {"hostProcess": True}}), 0,
     'hostProcess (pod and container "c" must not set '
     "securityContext.windowsOptions.hostProcess=true)"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "since", "text"), BASELINE, ids=range(len(BASELINE)))
def test_baseline(one: Pod, since: int, text: str) -> None:
    assert detail(one, Level.BASELINE) == text
    assert detail(one, Level.BASELINE, since) == text
    assert since == 0 or detail(one, Level.BASELINE, since - 1) == ""
    assert detail(one, Level.PRIVILEGED) == ""


RESTRICTED = [
    (pod({"allowPrivilegeEscalation": None}), 8, "allowPrivilegeEscalation != false (container "
     '"c" must set securityContext.allowPrivilegeEscalation=false)'),
    (pod({"capabilities": {"add": ["KILL"]}}), 22, 'unrestricted capabilities (container "c" must '
     'set securityContext.capabilities.drop=["ALL"]; container "c" must not include "KILL" in '
     "securityContext.capabilities.add)"),
    (pod(volumes=[{"name": "v", "nfs": {}}, {"name": "w", "rbd": {}}]), 0,
     'restricted volume types (volumes "v", "w" use restricted volume types "nfs", "rbd")'),
    (pod({"runAsNonRoot": None}), 0, 'runAsNonRoot != true (pod or container "c" must set '
     "securityContext.runAsNonRoot=true)"),
    (pod(securityContext={"runAsNonRoot": False}), 0,
     "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)"),
    (pod({"runAsUser": 0}), 23, 'runAsUser=0 (container "c" must not set runAsUser=0)'),
    (pod({"seccompProfile": None}), 19, 'seccompProfile (pod or container "c" must set '
     'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'),
]  # fmt: skip


@pytest.mark.parametrize(("one", "since", "text"), RESTRICTED, ids=range(len(RESTRICTED)))
def test_restricted(one: Pod, since: int, text: str) -> None:
    assert detail(one) == text
    assert detail(one, minor=since) == text
    assert since == 0 or detail(one, minor=since - 1) == ""
    assert detail(one, Level.BASELINE) == ""


@pytest.mark.parametrize(
    ("one", "level", "allowed_since"),
    [
        (pod({"allowPrivilegeEscalation": None}, os={"name": "windows"}), Level.RESTRICTED, 25),
        (pod({"capabilities": None}, os={"name": "windows"}), Level.RESTRICTED, 25),
        (pod({"seccompProfile": None}, os={"name": "windows"}), Level.RESTRICTED, 25),
        (pod({"runAsNonRoot": None}, hostUsers=False), Level.RESTRICTED, 35),
        (pod({"runAsUser": 0}, hostUsers=False), Level.RESTRICTED, 35),
        (pod({"procMount": "Unmasked"}, hostUsers=False), Level.BASELINE, 35),
        (pod({"seLinuxOptions": {"type": "container_engine_t"}}), Level.BASELINE, 31),
        (
            pod(securityContext={"sysctls": [{"name": "net.ipv4.ip_local_reserved_ports"}]}),
            Level.BASELINE,
            27,
        ),
        (
            pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_fin_timeout"}]}),
            Level.BASELINE,
            29,
        ),
        (pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}), Level.BASELINE, 32),
    ],
)
def test_later_versions_allow_more(one: Pod, level: Level, allowed_since: int) -> None:
    assert detail(one, level) == "" == detail(one, level, allowed_since)
    assert detail(one, level, allowed_since - 1) != ""


def test_restricted_unmasks_no_proc_in_a_user_namespace() -> None:
    unmasked = pod({"procMount": "Unmasked"}, hostUsers=False)
    assert detail(unmasked).startswith("procMount (")


def test_seccomp_annotations_counted_before_there_was_a_field() -> None:
    annotated = pod(annotations={"container.seccomp.security.alpha.kubernetes.io/c": "unconfined"})
    assert detail(annotated, Level.BASELINE, 18) == (
        "seccompProfile (forbidden annotation "
        'container.seccomp.security.alpha.kubernetes.io/c="unconfined")'
    )
    assert detail(annotated, Level.BASELINE, 19) == ""


def test_all_containers_count_and_violations_are_listed_in_order() -> None:
    plain = {"name": "c"}
    spec = {
        "initContainers": [{"name": "i"}],
        "containers": [plain],
        "ephemeralContainers": [{"name": "e", "securityContext": {"privileged": True}}],
    }
    verdict = evaluate(LevelVersion(Level.RESTRICTED), Pod({}, spec))
    assert verdict.reason == (
        "privileged, allowPrivilegeEscalation != false, unrestricted capabilities, "
        "runAsNonRoot != true, seccompProfile"
    )
    assert 'containers "i", "c", "e" must set securityContext.allow' in verdict.detail


def test_versions_of_the_future_are_the_latest() -> None:
    assert detail(pod({"privileged": True}), Level.BASELINE, 10**9)
