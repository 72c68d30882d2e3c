"""Annotations that say something about a pod: mirror pods, deletion cost, and the older forms of
seccomp and AppArmor."""

from __future__ import annotations

import re
from collections.abc import Mapping

from apiserver.fielderrors import FieldPath, forbidden, invalid
from apiserver.golang.strconv import whole
from apiserver.kinds.common import checks, paths
from apiserver.kinds.common.visit import visit_containers
from apiserver.meta.objects import ReadOnlyObject

MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


def validate(
    annotations: Mapping[str, str] | None, spec: ReadOnlyObject, path: FieldPath
) -> checks.Errors:
    annotations = annotations or {}
    if MIRROR in annotations and not spec.get("nodeName"):
        yield invalid(
            path.key(MIRROR),
            annotations[MIRROR],
            "must set spec.nodeName if mirror pod annotation is set",
        )
    cost = annotations.get(DELETION_COST)
    if cost is not None and not _is_int32(cost):
        yield invalid(path.key(DELETION_COST), cost, "must be a 32bit integer")
    containers = frozenset(c.get("name", "") for c, _ in visit_containers(spec, path))
    for key, value in sorted(annotations.items()):
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            yield from _seccomp(value, path.child(key))
        if key.startswith(APPARMOR):
            container = key.removeprefix(APPARMOR)
            if container not in containers:
                yield invalid(path.key(key), container, "container not found")
            if value not in ("", "runtime/default", "unconfined") and not value.startswith(
                "localhost/"
            ):
                yield invalid(path.key(key), value, f'invalid AppArmor profile name: "{value}"')


def _is_int32(value: str) -> bool:
    return bool(re.fullmatch(r"0|-?[1-9][0-9]*", value)) and -(1 << 31) <= whole(value) < 1 << 31


def _seccomp(value: str, path: FieldPath) -> checks.Errors:
    if value in ("runtime/default", "docker/default", "unconfined"):
        return
    if value.startswith("localhost/"):
        yield from paths.descending(value.removeprefix("localhost/"), path)
    else:
        yield invalid(path, value, "must be a valid seccomp profile")


def unchanged(
    new: Mapping[str, str] | None, old: Mapping[str, str] | None, path: FieldPath
) -> checks.Errors:
    """The annotations that an update of a pod may neither add, change nor remove."""
    new, old = new or {}, old or {}
    for key, value in sorted(old.items()):
        if new.get(key) != value:
            yield from _fixed(key, path, "remove or update")
    for key in sorted(new.keys() - old.keys()):
        yield from _fixed(key, path, "add")


def _fixed(key: str, path: FieldPath, what: str) -> checks.Errors:
    if key.startswith(APPARMOR):
        yield forbidden(path.key(key), f"may not {what} AppArmor annotations")
    if key == MIRROR:
        yield forbidden(path.key(key), f"may not {what} mirror pod annotation")


def match_fields(
    annotations: Mapping[str, str] | None, spec: ReadOnlyObject, path: FieldPath
) -> checks.Errors:
    """Where both an annotation and a field say something about seccomp or AppArmor, they must
    agree. ``path``: of the spec."""
    annotations = annotations or {}
    context = spec.get("securityContext") or {}
    pod_seccomp, pod_apparmor = context.get("seccompProfile"), context.get("appArmorProfile")
    if pod_seccomp is not None and SECCOMP_POD in annotations:
        yield from _agree(
            annotations[SECCOMP_POD],
            pod_seccomp,
            path.child("securityContext", "seccompProfile"),
            "seccomp",
        )
    windows = (spec.get("os") or {}).get("name") == "windows"
    for container, at in visit_containers(spec, path):
        own, name = container.get("securityContext") or {}, container.get("name", "")
        seccomp, apparmor = own.get("seccompProfile"), own.get("appArmorProfile") or pod_apparmor
        if seccomp is not None and SECCOMP_CONTAINER + name in annotations:
            yield from _agree(
                annotations[SECCOMP_CONTAINER + name],
                seccomp,
                at.child("securityContext", "seccompProfile"),
                "seccomp",
            )
        if apparmor is not None and APPARMOR + name in annotations and not windows:
            yield from _agree(
                annotations[APPARMOR + name],
                apparmor,
                at.child("securityContext", "appArmorProfile"),
                "apparmor",
            )


def _agree(annotation: str, profile: ReadOnlyObject, path: FieldPath, what: str) -> checks.Errors:
    expected = {
        "Unconfined": ("unconfined",),
        "RuntimeDefault": ("runtime/default", "docker/default"),
    }.get(profile.get("type", ""))
    if what == "apparmor" and annotation == "docker/default":
        expected = ()
    if expected is not None and annotation not in expected:
        yield forbidden(path.child("type"), f"{what} type in annotation and field must match")
    if profile.get("type") != "Localhost":
        return
    if not annotation.startswith("localhost/"):
        yield forbidden(path.child("type"), f"{what} type in annotation and field must match")
    elif annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
        yield forbidden(
            path.child("localhostProfile"), f"{what} profile in annotation and field must match"
        )
