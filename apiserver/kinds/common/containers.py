"""Containers of all three kinds: regular, init (with or without restartPolicy Always) and
ephemeral."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apiserver.fielderrors import (
    FieldPath,
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    too_long,
)
from apiserver.kinds.common import checks, env, mounts, podresources, probes, resources, security
from apiserver.meta import names
from apiserver.meta.objects import ReadOnlyObject

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_INIT_ONLY = "may not be set for init containers without restartPolicy=Always"
_EPHEMERAL = "cannot be set for an Ephemeral Container"
_NOT_EPHEMERAL_LISTS = ("ports", "resources", "resizePolicy", "restartPolicyRules")
_NOT_EPHEMERAL_POINTERS = (
    "restartPolicy",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
_MOST_RULES, _MOST_EXIT_CODES = 20, 255
_RESTART_POLICIES = ("Always", "Never", "OnFailure")


@dataclass(frozen=True, slots=True)
class PodView:
    """What a container's validation must know of its pod. volumes: the valid ones by name; claims:
    names in spec.resourceClaims; grace: terminationGracePeriodSeconds."""

    volumes: Mapping[str, ReadOnlyObject]
    claims: resources.ClaimNames
    grace: int | None
    restart_policy: str
    host_users: bool


def regular(containers: Sequence[ReadOnlyObject], path: FieldPath, pod: PodView) -> checks.Errors:
    if not containers:
        yield required(path)
        return
    seen: set[str] = set()
    for i, container in enumerate(containers):
        at = path.at(i)
        yield from _common(container, at, pod)
        yield from _unique(container, at, seen)
        yield from probes.all_of(container, at, pod.grace)
        yield from _restart(container, at)
    yield from _host_ports(containers, path)


def init(
    containers: Sequence[ReadOnlyObject],
    others: Sequence[ReadOnlyObject],
    path: FieldPath,
    pod: PodView,
) -> checks.Errors:
    """``others``: the regular containers, whose names are taken."""
    seen = {c.get("name", "") for c in others}
    for i, container in enumerate(containers):
        at = path.at(i)
        yield from _common(container, at, pod)
        yield from _restart(container, at, in_init=True)
        if container.get("name"):
            yield from _unique(container, at, seen)
        yield from _host_ports([container], path)
        if podresources.is_sidecar(container):
            yield from probes.all_of(container, at, pod.grace)
            continue
        for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(field) is not None:
                yield forbidden(at.child(field), _INIT_ONLY)


def ephemeral(
    containers: Sequence[ReadOnlyObject], spec: ReadOnlyObject, path: FieldPath, pod: PodView
) -> checks.Errors:
    others = {
        c.get("name", "") for name in ("containers", "initContainers") for c in spec.get(name) or ()
    }
    seen = set(others)
    for i, container in enumerate(containers):
        at = path.at(i)
        yield from _common(container, at, pod)
        yield from image_without_padding(container, at)
        yield from _unique(container, at, seen)
        target = container.get("targetContainerName")
        if target and target not in others:
            yield not_found(at.child("targetContainerName"), target)
        for field in (*_NOT_EPHEMERAL_LISTS, *_NOT_EPHEMERAL_POINTERS):
            value = container.get(field)
            if value if field in _NOT_EPHEMERAL_LISTS else value is not None:
                yield forbidden(at.child(field), _EPHEMERAL)
        for j, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield forbidden(at.child("volumeMounts").at(j).child(field), _EPHEMERAL)


def image_without_padding(container: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """Only in pods: templates have used padded images as placeholders."""
    image = container.get("image", "")
    if image != image.strip():
        yield invalid(path.child("image"), image, "must not have leading or trailing whitespace")


def _unique(container: ReadOnlyObject, path: FieldPath, seen: set[str]) -> checks.Errors:
    name = container.get("name", "")
    if name in seen:
        yield duplicate(path.child("name"), name)
    seen.add(name)


def _common(container: ReadOnlyObject, path: FieldPath, pod: PodView) -> checks.Errors:
    if not container.get("name"):
        yield required(path.child("name"))
    else:
        yield from checks.dns_label(container["name"], path.child("name"))
    if not container.get("image"):
        yield required(path.child("image"))
    yield from checks.one_of(
        container.get("terminationMessagePolicy", ""),
        path.child("terminationMessagePolicy"),
        _MESSAGE_POLICIES,
    )
    yield from _ports(container.get("ports") or (), path.child("ports"))
    yield from env.variables(container.get("env") or (), path.child("env"))
    yield from env.sources(container.get("envFrom") or (), path.child("envFrom"))
    yield from mounts.volume_mounts(container, pod.volumes, path.child("volumeMounts"))
    yield from mounts.volume_devices(container, pod.volumes, path.child("volumeDevices"))
    yield from checks.one_of(
        container.get("imagePullPolicy", ""), path.child("imagePullPolicy"), PULL_POLICIES
    )
    yield from resources.requirements(
        container.get("resources") or {}, path.child("resources"), pod.claims
    )
    yield from _resize(
        container.get("resizePolicy") or (), path.child("resizePolicy"), pod.restart_policy
    )
    yield from security.container_context(
        container.get("securityContext"), path.child("securityContext"), host_users=pod.host_users
    )


def _ports(ports: Sequence[ReadOnlyObject], path: FieldPath) -> checks.Errors:
    seen: set[str] = set()
    for i, port in enumerate(ports):
        at, name = path.at(i), port.get("name", "")
        if name:
            wrong = list(checks.rule(name, at.child("name"), names.port_name))
            yield from wrong
            if not wrong and name in seen:
                yield duplicate(at.child("name"), name)
            seen.add(name)
        if not port.get("containerPort"):
            yield required(at.child("containerPort"))
        else:
            yield from checks.port_number(port["containerPort"], at.child("containerPort"))
        if port.get("hostPort"):
            yield from checks.port_number(port["hostPort"], at.child("hostPort"))
        yield from checks.one_of(
            port.get("protocol", ""), at.child("protocol"), ("SCTP", "TCP", "UDP")
        )


def _host_ports(containers: Sequence[ReadOnlyObject], path: FieldPath) -> checks.Errors:
    """``path``: of the list; each host port once per protocol and host address."""
    seen: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in seen:
                yield duplicate(path.at(i).child("ports").at(j).child("hostPort"), key)
            seen.add(key)


def _resize(
    policies: Sequence[ReadOnlyObject], path: FieldPath, restart_policy: str
) -> checks.Errors:
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            yield duplicate(path.at(i), resource)
        seen.add(resource)
        yield from checks.one_of(resource, path, ("cpu", "memory"))
        yield from checks.one_of(restart, path, ("NotRequired", "RestartContainer"))
        if restart_policy == "Never" and restart != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield invalid(path, restart, why)


def _restart(container: ReadOnlyObject, path: FieldPath, *, in_init: bool = False) -> checks.Errors:
    """restartPolicy and restartPolicyRules of one container (KEP-5307)."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is not None:
        yield from checks.one_of(policy, path.child("restartPolicy"), _RESTART_POLICIES, empty=True)
    if not rules:
        return
    if policy is None:
        yield required(
            path.child("restartPolicy"), "must specify restartPolicy when restart rules are used"
        )
        if in_init:
            return
    if len(rules) > _MOST_RULES:
        yield too_long(path.child("restartPolicyRules"), _MOST_RULES)
    for i, rule in enumerate(rules):
        yield from _restart_rule(rule, path.child("restartPolicyRules").at(i))


def _restart_rule(rule: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    yield from checks.one_of(
        rule.get("action", ""),
        path.child("action"),
        ("Restart", "RestartAllContainers"),
        empty=True,
    )
    codes = rule.get("exitCodes")
    if codes is None:
        yield required(path.child("exitCodes"), "must be specified")
        return
    yield from checks.one_of(
        codes.get("operator", ""), path.child("exitCodes", "operator"), ("In", "NotIn"), empty=True
    )
    values = codes.get("values") or ()
    if len(values) > _MOST_EXIT_CODES:
        yield too_long(path.child("exitCodes", "values"), _MOST_EXIT_CODES)
