"""pods/resize: cpu and memory of running containers (KEP-1287, ValidatePodResize)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apiserver.fielderrors import forbidden, invalid
from apiserver.kinds.common import checks, podannotations, podresources
from apiserver.kinds.common.alike import alike
from apiserver.meta.objects import Object, copy_json

SPEC = checks.root("spec")
_KEPT = ("resources", "resizePolicy")
_CORE = "core.v1."
_RESIZABLE = ("cpu", "memory")
_KINDS = ("requests", "limits")
_LISTS = ("containers", "initContainers")


def keep_all_but_resources(obj: Object, old: Object) -> bool:
    """Drops every change to the spec but to resources. Where there are more or fewer containers
    nothing is dropped, for validation to refuse: False."""
    new, kept = obj["spec"], copy_json(old["spec"])
    if any(len(new.get(field) or ()) != len(kept.get(field) or ()) for field in _LISTS):
        return False
    for field in ("resources", *_LISTS):
        kept.pop(field, None)
    for field in _LISTS:
        if new.get(field):
            kept[field] = _kept_containers(new[field], copy_json(old["spec"][field]))
    if new.get("resources") is not None:
        kept["resources"] = new["resources"]
    obj["spec"] = kept
    return True


def _kept_containers(new: list[Object], old: list[Object]) -> list[Object]:
    if [c.get("name") for c in new] != [c.get("name") for c in old]:
        return new
    for container, now in zip(old, new, strict=True):
        for field in _KEPT:
            container.pop(field, None)
            if field in now:
                container[field] = now[field]
    return old


def refusal(old: Object) -> checks.Errors:
    """Of pods that cannot be resized whatever is asked: nothing else is said of such a request."""
    if podannotations.MIRROR in (old["metadata"].get("annotations") or {}):
        yield forbidden(checks.NOWHERE, "static pods cannot be resized")
    elif (old["spec"].get("os") or {}).get("name") == "windows":
        yield forbidden(checks.NOWHERE, "windows pods cannot be resized")


def validate(obj: Object, old: Object) -> checks.Errors:
    new, before = obj["spec"], old["spec"]
    wrong = list(_changes(obj, old))
    yield from wrong
    if not wrong and not alike(f"{_CORE}PodSpec", _settled(new, before), before):
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
    yield from _pod_level(new.get("resources"), before.get("resources"))
    moved = list(_order(new, before))
    yield from moved
    if not moved:
        yield from _removed(new, before)
        yield from _fixed_parts(new, before)


def _pod_level(new: Object | None, old: Object | None) -> checks.Errors:
    """What all containers have together may be resized too (KEP-5419)."""
    if not any((r or {}).get(kind) for r in (new, old) for kind in _KINDS):
        return
    path = SPEC.child("resources")
    if old is not None and new is None:
        yield forbidden(path, "pod-level resources cannot be removed")
        return
    for kind in _KINDS if old is not None else ():
        if _lost((new or {}).get(kind), (old or {}).get(kind)):
            yield forbidden(path.child(kind), f"pod-level resource {kind} cannot be removed")
    if not alike(f"{_CORE}ResourceRequirements", _settled_amounts(new or {}, old or {}), old or {}):
        yield forbidden(SPEC, "only cpu and memory resources are mutable at pod-level")


def _order(new: Object, old: Object) -> checks.Errors:
    """Containers stay where they are, under their names."""
    for field in _LISTS:
        now, was = new.get(field) or (), old.get(field) or ()
        if len(now) != len(was):
            yield forbidden(SPEC.child(field), f"{field} may not be added or removed on resize")
            continue
        for i, (container, earlier) in enumerate(zip(now, was, strict=True)):
            if container.get("name") != earlier.get("name"):
                yield forbidden(
                    SPEC.child(field).at(i).child("name"),
                    f"{field} may not be renamed or reordered on resize",
                )


def _removed(new: Object, old: Object) -> checks.Errors:
    """No amount may go. Since 1.34 memory limits may shrink without a restart: the kubelet sees to
    it."""
    for field in ("initContainers", "containers"):
        for i, (now, was) in enumerate(_pairs(new, old, field)):
            if field == "initContainers" and not podresources.is_sidecar(was):
                continue
            for kind in _KINDS:
                if _lost(*((c.get("resources") or {}).get(kind) for c in (now, was))):
                    yield forbidden(
                        SPEC.child(field).at(i).child("resources", kind),
                        f"resource {kind} cannot be removed",
                    )


def _lost(new: Mapping[str, str] | None, old: Mapping[str, str] | None) -> bool:
    return bool((old or {}).keys() - (new or {}).keys())


def _fixed_parts(new: Object, old: Object) -> checks.Errors:
    for now, was in _pairs(new, old, "containers"):
        if not _same(_settled_container(now, was), was):
            yield forbidden(SPEC, "only cpu and memory resources are mutable")
    for now, was in _pairs(new, old, "initContainers"):
        if not podresources.is_sidecar(now):
            if not _same(now, was):
                yield forbidden(SPEC, "resources for non-sidecar init containers are immutable")
        elif not _same(_settled_container(now, was), was):
            yield forbidden(
                SPEC, "only cpu and memory resources for sidecar containers are mutable"
            )


def _same(container: Object, other: Object) -> bool:
    return alike(f"{_CORE}Container", container, other)


def _pairs(new: Object, old: Object, field: str) -> Iterable[tuple[Object, Object]]:
    return zip(new.get(field) or (), old.get(field) or (), strict=True)


def _settled(new: Object, old: Object) -> Object:
    """The new spec with all amounts that may change put back."""
    settled = {
        **new,
        "containers": [_settled_container(*pair) for pair in _pairs(new, old, "containers")],
        "initContainers": [
            _settled_container(now, was) if podresources.is_sidecar(now) else now
            for now, was in _pairs(new, old, "initContainers")
        ],
    }
    if old.get("resources") is not None:
        settled["resources"] = _settled_amounts(new.get("resources") or {}, old["resources"])
    elif any((new.get("resources") or {}).get(kind) for kind in _KINDS):
        settled.pop("resources")  # which has been found to be nothing but cpu and memory
    return settled


def _settled_container(container: Object, old: Object) -> Object:
    """Claims are not looked at: what a container says of them cannot be changed, and is lost."""
    amounts = _settled_amounts(container.get("resources") or {}, old.get("resources") or {})
    amounts.pop("claims", None)
    return {**container, "resources": amounts}


def _settled_amounts(resources: Object, old: Object) -> Object:
    """``resources`` with the cpu and memory of ``old``."""
    settled = dict(resources)
    for kind in _KINDS:
        given, before = resources.get(kind) or {}, old.get(kind) or {}
        settled[kind] = {
            **{name: value for name, value in given.items() if name not in _RESIZABLE},
            **{name: before[name] for name in _RESIZABLE if name in before},
        }
    return settled
