"""Volumes that project API data into files: downward API, projected volumes, and the key-to-path
lists of ConfigMaps and Secrets."""

from __future__ import annotations

from apiserver.fielderrors import FieldPath, forbidden, invalid, required
from apiserver.kinds.common import checks, env, paths
from apiserver.meta.objects import ReadOnlyObject

_DUPLICATE = "conflicting duplicate paths"
_SOURCES = ("secret", "configMap", "downwardAPI", "serviceAccountToken")


def config_items(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """defaultMode and items of a ConfigMap or Secret volume."""
    yield from paths.file_mode(source.get("defaultMode"), path.child("defaultMode"))
    for i, item in enumerate(source.get("items") or ()):
        yield from _key_to_path(item, path.child("items").at(i))


def _key_to_path(item: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    for field in ("key", "path"):
        if not item.get(field):
            yield required(path.child(field))
    yield from paths.local(item.get("path", ""), path.child("path"))
    yield from paths.file_mode(item.get("mode"), path.child("mode"))


def downward_api(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    yield from paths.file_mode(source.get("defaultMode"), path.child("defaultMode"))
    for item in source.get("items") or ():
        yield from _downward_file(item, path)


def _downward_file(item: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """``path``: the volume's, not the item's; kube-apiserver does not number these."""
    if not item.get("path"):
        yield required(path.child("path"))
    yield from paths.local(item.get("path", ""), path.child("path"))
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        yield from env.field_ref(field, path.child("fieldRef"), env.VOLUME_FIELDS)
        if resource is not None:
            yield invalid(
                path,
                "resource",
                "fieldRef and resourceFieldRef can not be specified simultaneously",
            )
    elif resource is not None:
        yield from env.resource_ref(resource, path.child("resourceFieldRef"), needs_container=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from paths.file_mode(item.get("mode"), path.child("mode"))


def projected(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    yield from paths.file_mode(source.get("defaultMode"), path.child("defaultMode"))
    used: set[str] = set()
    for i, part in enumerate(source.get("sources") or ()):
        at = path.child("sources").at(i)
        sources = [kind for kind in _SOURCES if part.get(kind) is not None]
        for kind in sources:
            yield from _part(kind, part[kind], at.child(kind), path, used)
        if len(sources) > 1:
            yield forbidden(at, "may not specify more than 1 volume type per source")


def _part(
    kind: str, part: ReadOnlyObject, at: FieldPath, path: FieldPath, used: set[str]
) -> checks.Errors:
    """``used``: paths of files that earlier sources make; grows."""
    match kind:
        case "secret" | "configMap":
            if not part.get("name"):
                yield required(at.child("name"))
            for i, item in enumerate(part.get("items") or ()):
                yield from _key_to_path(item, at.child("items").at(i))
                yield from _once(item.get("path", ""), part.get("name", ""), path, used)
        case "downwardAPI":
            for item in part.get("items") or ():
                yield from _downward_file(item, at)
                yield from _once(item.get("path", ""), item.get("path", ""), path, used)
        case _:
            yield from _token(part, at, path)


def _once(file: str, file_text: str, path: FieldPath, used: set[str]) -> checks.Errors:
    if file and file in used:
        yield invalid(path, file_text, _DUPLICATE)
    used.add(file)


def _token(part: ReadOnlyObject, at: FieldPath, path: FieldPath) -> checks.Errors:
    seconds = part.get("expirationSeconds", 0)
    if seconds < 600:
        yield invalid(
            at.child("expirationSeconds"),
            seconds,
            "may not specify a duration less than 10 minutes",
        )
    if seconds > 1 << 32:
        yield invalid(
            at.child("expirationSeconds"),
            seconds,
            "may not specify a duration larger than 2^32 seconds",
        )
    if not part.get("path"):
        yield required(path.child("path"))
    else:
        yield from paths.local(part["path"], path.child("path"))
