"""AppArmor annotations of pods, which 1.30 replaced by fields: copied into the fields, with a
warning (KEP-24)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from apiserver.kinds.common.podannotations import APPARMOR
from apiserver.kinds.common.visit import containers
from apiserver.meta.objects import Object


def _profile(annotation: str) -> Object | None:
    """The field that says the same; None where the annotation says nothing valid."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    local = annotation.removeprefix("localhost/")
    if annotation.startswith("localhost/") and local.strip() == local and local:
        return {"type": "Localhost", "localhostProfile": local}
    return None


def fields_from_annotations(pod: Object, warn: Callable[[str], None]) -> None:
    """Fills containers[*].securityContext.appArmorProfile where only the annotation says something
    that the pod does not. ``warn``: of each annotation that was needed, or says nothing valid."""
    if (pod["spec"].get("os") or {}).get("name") == "windows":
        return
    whole = (pod["spec"].get("securityContext") or {}).get("appArmorProfile")
    for container, annotation in _annotated(pod):
        context, field = container.get("securityContext") or {}, _profile(annotation)
        if context.get("appArmorProfile") is not None or (field is not None and field == whole):
            continue
        if field is not None:
            container["securityContext"] = {**context, "appArmorProfile": field}
        key = f"metadata.annotations[{APPARMOR}{container.get('name', '')}]"
        warn(f'{key}: deprecated since v1.30; use the "appArmorProfile" field instead')


def _annotated(pod: Object) -> Iterator[tuple[Object, str]]:
    annotations: Mapping[str, str] = pod["metadata"].get("annotations") or {}
    for container in containers(pod["spec"]):
        annotation = annotations.get(APPARMOR + container.get("name", ""))
        if annotation is not None:
            yield container, annotation
