"""pods/resize: cpu and memory of running containers (KEP-1287, ValidatePodResize)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.fielderrors import FieldPath, forbidden, invalid
from apiserver.kinds.common import checks, podannotations, podresources
from apiserver.meta.objects import Object, copy_json

SPEC = checks.root("spec")
_KEPT = ("resources", "resizePolicy")
_RESIZABLE = ("cpu", "memory")


def keep_all_but_resources(obj: Object, old: Object) -> None:
    """Drops every change but to containers' resources; a changed list of containers is left for
    validation to refuse."""
    new, before = obj["spec"], copy_json(old["spec"])
    for name in ("containers", "initContainers"):
        containers, kept = new.get(name) or [], before.get(name) or []
        if [c.get("name") for c in containers] != [c.get("name") for c in kept]:
            return
        for container, now in zip(kept, containers, strict=True):
            for field in _KEPT:
                container.pop(field, None)
                if field in now:
                    container[field] = now[field]
    if new.get("resources") is not None:
        before["resources"] = new["resources"]
    obj["spec"] = before


def validate(obj: Object, old: Object) -> checks.Errors:
    new, before = obj["spec"], old["spec"]
    if podannotations.MIRROR in (old["metadata"].get("annotations") or {}):
        yield forbidden(checks.NOWHERE, "static pods cannot be resized")
        return
    if (before.get("os") or {}).get("name") == "windows":
        yield forbidden(checks.NOWHERE, "windows pods cannot be resized")
        return
    wrong = list(_changes(obj, old))
    yield from wrong
    if not wrong and _without_amounts(new) != _without_amounts(before):
        yield forbidden(SPEC, "only cpu and memory resources are mutable")


def _changes(obj: Object, old: Object) -> checks.Errors:
    new, before = obj["spec"], old["spec"]
    status = old.get("status") or {}
    if (status.get("qosClass") or podresources.qos_class(before)) != podresources.qos_class(new):
        yield invalid(
            SPEC,
            (obj.get("status") or {}).get("qosClass", ""),
            "Pod QOS Class may not change as a result of resizing",
        )
    for container in status.get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            if container.get("resources") is None:
                yield forbidden(SPEC, "Pod running on node without support for resize")
            break
    for name in ("initContainers", "containers"):
        now, was = new.get(name) or (), before.get(name) or ()
        if len(now) != len(was):
            yield forbidden(SPEC, "only cpu and memory resources are mutable")
            return
        for i, (container, earlier) in enumerate(zip(now, was, strict=True)):
            yield from _container(
                container, earlier, name, SPEC.child(name).at(i).child("resources")
            )


def _container(
    now: Mapping[str, Any], was: Mapping[str, Any], kind: str, path: FieldPath
) -> checks.Errors:
    if kind == "initContainers" and not podresources.is_sidecar(was):
        if now != was:
            yield forbidden(SPEC, "resources for non-sidecar init containers are immutable")
        return
    yield from _amounts(now, was, path)
    if _fixed_part(now) != _fixed_part(was):
        which = (
            "resources for sidecar containers are" if kind == "initContainers" else "resources are"
        )
        yield forbidden(SPEC, f"only cpu and memory {which} mutable")


def _amounts(now: Mapping[str, Any], was: Mapping[str, Any], path: FieldPath) -> checks.Errors:
    new, old = now.get("resources") or {}, was.get("resources") or {}
    for kind in ("requests", "limits"):
        # Since 1.34 memory limits may shrink without a restart: the kubelet sees to it.
        if (old.get(kind) or {}).keys() - (new.get(kind) or {}).keys():
            yield forbidden(path.child(kind), f"resource {kind} cannot be removed")


def _fixed_part(container: Mapping[str, Any]) -> dict[str, Any]:
    resources = container.get("resources") or {}
    fixed = {
        k: {n: v for n, v in (resources.get(k) or {}).items() if n not in _RESIZABLE}
        for k in ("limits", "requests")
    }
    return {**container, "resources": {**fixed, "claims": resources.get("claims")}}


def _without_amounts(spec: Object) -> Object:
    parts = {
        name: [_fixed_part(c) for c in spec.get(name) or ()]
        for name in ("containers", "initContainers")
    }
    return {**spec, **parts}
