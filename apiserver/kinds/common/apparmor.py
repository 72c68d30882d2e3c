"""AppArmor annotations of pods, which 1.30 replaced by fields: copied into the fields, with a
warning (KEP-24)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apiserver.kinds.common.podannotations import APPARMOR
from apiserver.kinds.common.poddefaults import containers
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


def fields_from_annotations(pod: Object) -> None:
    """Fills containers[*].securityContext.appArmorProfile where only the annotation says something
    that the pod does not."""
    if (pod["spec"].get("os") or {}).get("name") == "windows":
        return
    whole = (pod["spec"].get("securityContext") or {}).get("appArmorProfile")
    for container, annotation in _annotated(pod):
        profile = _profile(annotation)
        if (
            profile is not None
            and profile != whole
            and (container.get("securityContext") or {}).get("appArmorProfile") is None
        ):
            container["securityContext"] = {
                **(container.get("securityContext") or {}),
                "appArmorProfile": profile,
            }


def warnings(pod: Object) -> list[str]:
    """After fields_from_annotations: for each annotation that was needed, or that says nothing
    valid."""
    if (pod["spec"].get("os") or {}).get("name") == "windows":
        return []
    whole = (pod["spec"].get("securityContext") or {}).get("appArmorProfile")
    texts = []
    for container, annotation in _annotated(pod):
        own, said = (
            (container.get("securityContext") or {}).get("appArmorProfile"),
            _profile(annotation),
        )
        if (own is not None and own == said) or (own is None and said is None):
            if said is not None and said == whole:
                continue
            key = f"metadata.annotations[{APPARMOR}{container.get('name', '')}]"
            texts.append(f'{key}: deprecated since v1.30; use the "appArmorProfile" field instead')
    return texts


def _annotated(pod: Object) -> Iterator[tuple[Object, str]]:
    annotations: Mapping[str, str] = pod["metadata"].get("annotations") or {}
    for container in containers(pod["spec"]):
        annotation = annotations.get(APPARMOR + container.get("name", ""))
        if annotation is not None:
            yield container, annotation
