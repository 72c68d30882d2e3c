"""The checks of level ``baseline``: the best known ways from a container to its node are closed
(k8s.io/pod-security-admission ``policy``, check_*.go)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from admission.podsecurity.pods import Check, Pod, Violation, containers_of, plural, quoted
from apiserver.golang.strconv import go_quote
from apiserver.kinds.common.podannotations import APPARMOR, SECCOMP_CONTAINER, SECCOMP_POD

_CONFINED = frozenset({"RuntimeDefault", "Localhost"})
_CAPABILITIES = frozenset(
    {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"}
    | {"NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
)
_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    }
)


def app_armor(pod: Pod) -> Violation | None:
    setters, values = pod.setting(lambda context: _unconfined(context, "appArmorProfile"))
    annotations = sorted(
        f"{name}={go_quote(value)}"
        for name, value in pod.annotations.items()
        if name.startswith(APPARMOR) and not _allowed_app_armor(value)
    )
    if not setters and not annotations:
        return None
    listed = [*values, *annotations]
    if annotations:
        setters += " and " * bool(setters) + plural("annotation", annotations)
    return Violation(
        plural("forbidden AppArmor profile", listed),
        f"{setters} must not set AppArmor profile type to {quoted(listed)}",
    )


def _allowed_app_armor(value: str) -> bool:
    return value in ("", "runtime/default") or value.startswith("localhost/")


def _unconfined(context: Mapping[str, Any], member: str) -> Collection[str]:
    """The type of a profile that confines nothing."""
    profile = context.get(member)
    return () if profile is None or profile.get("type") in _CONFINED else (profile.get("type", ""),)


def capabilities(pod: Pod) -> Violation | None:
    names, added = pod.having(lambda context: added_capabilities(context) - _CAPABILITIES)
    if not names:
        return None
    return Violation(
        "non-default capabilities",
        f"{containers_of(names)} must not include {quoted(added)} in "
        f"securityContext.capabilities.add",
    )


def added_capabilities(context: Mapping[str, Any]) -> set[str]:
    return set((context.get("capabilities") or {}).get("add") or ())


def host_namespaces(pod: Pod) -> Violation | None:
    shared = [f"{m}=true" for m in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(m)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_path_volumes(pod: Pod) -> Violation | None:
    names = [v["name"] for v in pod.spec.get("volumes") or () if v.get("hostPath") is not None]
    if not names:
        return None
    return Violation("hostPath volumes", f"{plural('volume', names)} {quoted(names)}")


def host_ports(pod: Pod) -> Violation | None:
    ports: set[str] = set()
    names = []
    for name, container, _ in pod.containers:
        used = {str(p["hostPort"]) for p in container.get("ports") or () if p.get("hostPort")}
        if used:
            names.append(name)
            ports |= used
    if not names:
        return None
    return Violation(
        "hostPort",
        f"{containers_of(names)} {plural('uses', names, 'use')} {plural('hostPort', ports)} "
        f"{', '.join(sorted(ports))}",
    )


def probe_hosts(pod: Pod) -> Violation | None:
    hosts: set[str] = set()
    names: set[str] = set()
    for name, container, _ in pod.containers:
        lifecycle = container.get("lifecycle") or {}
        actions = [container.get(p) for p in ("livenessProbe", "readinessProbe", "startupProbe")]
        for action in [*actions, lifecycle.get("postStart"), lifecycle.get("preStop")]:
            asked = [(action or {}).get(member) or {} for member in ("httpGet", "tcpSocket")]
            if used := {ask["host"] for ask in asked if ask.get("host")}:
                names.add(name)
                hosts |= used
    if not names:
        return None
    return Violation(
        "probe or lifecycle host",
        f"{containers_of(sorted(names))} {plural('uses', names, 'use')} "
        f"{plural('probe or lifecycle host', hosts)} {quoted(sorted(hosts))}",
    )


def privileged(pod: Pod) -> Violation | None:
    if not (names := pod.where(lambda context: bool(context.get("privileged")))):
        return None
    detail = f"{containers_of(names)} must not set securityContext.privileged=true"
    return Violation("privileged", detail)


def proc_mount(pod: Pod) -> Violation | None:
    names, kinds = pod.having(
        lambda c: () if c.get("procMount") in (None, "Default") else (c["procMount"],)
    )
    if not names:
        return None
    return Violation(
        "procMount",
        f"{containers_of(names)} must not set securityContext.procMount to {quoted(kinds)}",
    )


def proc_mount_of_users(pod: Pod) -> Violation | None:
    """A pod in a user namespace may unmask what it likes."""
    return None if pod.in_user_namespace else proc_mount(pod)


def selinux(*more_types: str) -> Check:
    """more_types: allowed beside those of the first version."""

    def check(pod: Pod) -> Violation | None:
        types: set[str] = set()
        members: set[str] = set()

        def bad(context: Mapping[str, Any]) -> bool:
            options = context.get("seLinuxOptions")
            if options is None:
                return False
            kind = options.get("type", "")
            wrong = {kind} - _SELINUX_TYPES - set(more_types)
            types.update(wrong)
            forbidden = {m for m in ("user", "role") if options.get(m)}
            members.update(forbidden)
            return bool(wrong or forbidden)

        if not (setters := pod.setters(bad)):
            return None
        data = [f"{plural('type', types)} {quoted(sorted(types))}"] if types else []
        data += [f"{member} may not be set" for member in ("user", "role") if member in members]
        return Violation(
            "seLinuxOptions",
            f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}",
        )

    return check


def seccomp_annotations(pod: Pod) -> Violation | None:
    names = [SECCOMP_POD, *(SECCOMP_CONTAINER + name for name, _, _ in pod.containers)]
    forbidden = sorted(
        {
            f"{name}={go_quote(pod.annotations[name])}"
            for name in names
            if name in pod.annotations and not _allowed_seccomp(pod.annotations[name])
        }
    )
    if not forbidden:
        return None
    detail = f"forbidden {plural('annotation', forbidden)} {', '.join(forbidden)}"
    return Violation("seccompProfile", detail)


def _allowed_seccomp(value: str) -> bool:
    return value in ("runtime/default", "docker/default") or value.startswith("localhost/")


def seccomp(pod: Pod) -> Violation | None:
    setters, kinds = pod.setting(lambda context: _unconfined(context, "seccompProfile"))
    if not setters:
        return None
    return Violation(
        "seccompProfile",
        f"{setters} must not set securityContext.seccompProfile.type to {quoted(kinds)}",
    )


def sysctls(*more: str) -> Check:
    """more: allowed beside those of the first version."""
    allowed = SYSCTLS | set(more)

    def check(pod: Pod) -> Violation | None:
        names = [s.get("name", "") for s in pod.context.get("sysctls") or ()]
        forbidden = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(forbidden)) if forbidden else None

    return check


def host_process(pod: Pod) -> Violation | None:
    setters = pod.setters(lambda c: bool((c.get("windowsOptions") or {}).get("hostProcess")))
    if not setters:
        return None
    detail = f"{setters} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail)
