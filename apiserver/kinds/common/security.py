"""Security contexts of pods and containers: ids, seccomp, AppArmor, sysctls, Windows options, what
a Windows pod may not set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from apiserver.fielderrors import (
    FieldError,
    FieldPath,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from apiserver.kinds import formats
from apiserver.kinds.common import checks, paths
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.visit import visit_containers
from apiserver.meta.objects import ReadOnlyObject

_SYSCTL = re.compile(r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$")
_IPC_SYSCTLS = re.compile(r"kernel[./](shm|msg|sem)|fs[./]mqueue[./]")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_LINUX_ONLY_POD = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_LINUX_ONLY_CONTAINER = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def pod_context(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """``path``: of the pod's spec."""
    context = spec.get("securityContext")
    if context is None:
        return
    at = path.child("securityContext")
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        if context.get(field) is not None:
            yield from checks.rule(context[field], at.child(field), formats.user_id)
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        yield from checks.rule(group, at.child("supplementalGroups").at(i), formats.user_id)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        yield invalid(
            at.child("shareProcessNamespace"),
            True,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        )
    yield from _sysctls(context.get("sysctls") or (), spec, at.child("sysctls"))
    yield from checks.optional_one_of(
        context.get("fsGroupChangePolicy"),
        at.child("fsGroupChangePolicy"),
        ("Always", "OnRootMismatch"),
    )
    yield from _seccomp(context.get("seccompProfile"), at.child("seccompProfile"))
    yield from _windows(context.get("windowsOptions"), at.child("windowsOptions"))
    yield from _apparmor(context.get("appArmorProfile"), at.child("appArmorProfile"))
    policy = context.get("supplementalGroupsPolicy")
    yield from checks.optional_one_of(
        policy, at.child("supplementalGroupsPolicy"), ("Merge", "Strict")
    )
    change = context.get("seLinuxChangePolicy")
    # MountOption comes with the feature SELinuxMount, which is off
    yield from checks.optional_one_of(change, at.child("seLinuxChangePolicy"), ("Recursive",))


def container_context(
    context: ReadOnlyObject | None, path: FieldPath, *, host_users: bool
) -> checks.Errors:
    if context is None:
        return
    for field in ("runAsUser", "runAsGroup"):
        if context.get(field) is not None:
            yield from checks.rule(context[field], path.child(field), formats.user_id)
    mount = context.get("procMount")
    if mount is not None:
        yield from checks.one_of(
            mount, path.child("procMount"), ("Default", "Unmasked"), empty=True
        )
        if host_users and mount == "Unmasked":
            yield invalid(
                path.child("procMount"), mount, "`hostUsers` must be false to use `Unmasked`"
            )
    yield from _seccomp(context.get("seccompProfile"), path.child("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            yield _contradiction(
                context,
                path,
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            )
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            yield _contradiction(
                context,
                path,
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                "CAP_SYS_ADMIN",
            )
    yield from _windows(context.get("windowsOptions"), path.child("windowsOptions"))
    yield from _apparmor(context.get("appArmorProfile"), path.child("appArmorProfile"))


def _contradiction(context: ReadOnlyObject, path: FieldPath, why: str) -> FieldError:
    """The whole context is the bad value, with the member names and the nulls of kube-apiserver's
    internal type."""
    return invalid(path, quote("core.v1.SecurityContext", context), why)


def _seccomp(profile: ReadOnlyObject | None, path: FieldPath) -> checks.Errors:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield required(path.child("type"), "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(path.child("type"), kind, list(_PROFILES))
    if kind == "Localhost":
        if local is None:
            yield required(
                path.child("localhostProfile"), "must be set when seccomp type is Localhost"
            )
        else:
            yield from paths.descending(local, path.child("localhostProfile"))
    elif local is not None:
        profile_text = quote("core.v1.SeccompProfile", profile)
        yield invalid(
            path.child("localhostProfile"),
            profile_text,
            "can only be set when seccomp type is Localhost",
        )


def _apparmor(profile: ReadOnlyObject | None, path: FieldPath) -> checks.Errors:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    at = path.child("localhostProfile")
    if kind == "Localhost":
        if local is not None and local != local.strip():
            yield invalid(at, local, "must not be padded with whitespace")
        elif not local:
            yield required(at, "must be set when AppArmor type is Localhost")
        if local is not None and len(local.encode()) > 4095:
            yield too_long(at, 4095)
    elif kind in _PROFILES:
        if local is not None:
            yield invalid(at, local, "can only be set when AppArmor type is Localhost")
    elif not kind:
        yield required(path.child("type"), "type is required when appArmorProfile is set")
    else:
        yield not_supported(path.child("type"), kind, list(_PROFILES))


def _sysctls(sysctls: Any, spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    seen: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        name, at = sysctl.get("name", ""), path.at(i).child("name")
        if not name:
            yield required(at)
        elif len(name) > 253 or not _SYSCTL.match(name):
            yield invalid(
                at, name, f"must have at most 253 characters and match regex {_SYSCTL.pattern}"
            )
        elif name in seen:
            yield duplicate(at, name)
        if spec.get("hostNetwork") and re.match("net[./]", name):
            yield invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and _IPC_SYSCTLS.match(name):
            yield invalid(at, name, "may not be specified when 'hostIPC' is true")
        seen.add(name)


def _windows(options: ReadOnlyObject | None, path: FieldPath) -> checks.Errors:
    if options is None:
        return
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        yield from checks.dns_subdomain(name, path.child("gmsaCredentialSpecName"))
    spec = options.get("gmsaCredentialSpec")
    if spec == "":
        yield invalid(
            path.child("gmsaCredentialSpec"), spec, "gmsaCredentialSpec cannot be an empty string"
        )
    elif spec is not None and len(spec.encode()) > 64 * 1024:
        yield invalid(
            path.child("gmsaCredentialSpec"), spec, "gmsaCredentialSpec size must be under 64 KiB"
        )
    user = options.get("runAsUserName")
    if user is not None:
        for why in _windows_user(user):
            yield invalid(path.child("runAsUserName"), user, f"runAsUserName{why}")


def _windows_user(value: str) -> Iterator[str]:
    """What is wrong with ``DOMAIN\\USER`` or ``USER``."""
    if not value:
        yield " cannot be an empty string"
        return
    if re.search(r"[\x00-\x1f\x7f]", value):
        yield " cannot contain control characters"
        return
    domain, backslash, user = value.rpartition("\\")
    if "\\" in domain:
        yield " cannot contain more than one backslash"
        return
    if len(domain.encode()) >= 256:
        yield "'s Domain length must be under 256 characters"
    label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    if backslash and not re.fullmatch(
        rf'[^\\/:*?"<>|.][^\\/:*?"<>|]{{0,14}}|{label}(?:\.{label})*', domain
    ):
        yield "'s Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "'s User cannot be empty"
    elif len(user.encode()) > 104:
        yield "'s User length must not be longer than 104 characters"
    if re.fullmatch(r"[. ]+", user):
        yield "'s User cannot contain only periods or spaces"
    if re.search(r'["/\\:;|=,+*?<>@\[\]]', user):
        yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def host_process(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """Windows HostProcess containers: all or none of a pod's, on the host's network."""
    pod = ((spec.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    count = total = 0
    for container, at in visit_containers(spec, path):
        total += 1
        own = ((container.get("securityContext") or {}).get("windowsOptions") or {}).get(
            "hostProcess"
        )
        if pod is not None and own is not None and pod != own:
            why = (
                f"pod hostProcess value must be identical if both are specified, was "
                f"{'true' if pod else 'false'}"
            )
            yield invalid(at.child("securityContext", "windowsOptions", "hostProcess"), own, why)
        count += bool(own if own is not None else pod)
    if not count:
        return
    if count != total:
        yield invalid(
            path,
            "",
            "If pod contains any hostProcess containers then all containers must be HostProcess "
            "containers",
        )
    if not spec.get("hostNetwork"):
        yield invalid(
            path.child("hostNetwork"),
            False,
            "hostNetwork must be true if pod contains any hostProcess containers",
        )


def operating_system(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """spec.os and what the other system's pods alone may set."""
    system = spec.get("os")
    if system is None:
        return
    match system.get("name", ""):
        case "":
            yield required(path.child("os", "name"))
        case "linux":
            yield from _linux(spec, path)
        case "windows":
            yield from _windows_pod(spec, path)
        case name:
            yield not_supported(path.child("os"), name, ["linux", "windows"])


def _linux(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    why = "windows options cannot be set for a linux pod"
    for holder, at in ((spec, path), *visit_containers(spec, path)):
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None:
            yield forbidden(at.child("securityContext", "windowsOptions"), why)


def _windows_pod(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    why = "cannot be set for a windows pod"
    context = spec.get("securityContext")
    if context is not None:
        for field in _LINUX_ONLY_POD:
            if context.get(field) not in (None, []) or (
                field == "supplementalGroups" and context.get(field) is not None
            ):
                yield forbidden(path.child("securityContext", field), why)
        for field in ("hostUsers", "shareProcessNamespace"):
            if spec.get(field) is not None:
                yield forbidden(path.child(field), why)
        for field in ("hostPID", "hostIPC"):
            if spec.get(field):
                yield forbidden(path.child(field), why)
    for container, at in visit_containers(spec, path):
        own = container.get("securityContext") or {}
        for field in _LINUX_ONLY_CONTAINER:
            if own.get(field) is not None:
                yield forbidden(at.child("securityContext", field), why)


def host_users(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """A pod with its own user namespace shares no other namespace with the host, and mounts no
    devices, whose owners cannot be mapped."""
    if spec.get("hostUsers") is not False:
        return
    why = "when `hostUsers` is false"
    for field, field_text in (
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ):
        if spec.get(field):
            yield forbidden(path.child(field_text), why)
    for container, at in visit_containers(spec, path):
        if container.get("volumeDevices"):
            yield forbidden(at.child("volumeDevices"), why)
