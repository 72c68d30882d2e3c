"""Environment variables of a container and what they may refer to (downward API, ConfigMaps,
Secrets, files)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.fielderrors import FieldPath, invalid, not_found, not_supported, required
from apiserver.kinds.common import checks, paths
from apiserver.kinds.common.visit import visit_containers
from apiserver.meta import names
from apiserver.meta.objects import ReadOnlyObject
from apiserver.meta.quantity import parse_quantity

ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS = frozenset(
    (
        *ENV_FIELDS,
        *VOLUME_FIELDS,
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.host",
        "status.phase",
    )
)
_OLD_NAMES = {"spec.host": "spec.nodeName"}
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGEPAGES = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def variables(env: Sequence[ReadOnlyObject], path: FieldPath) -> checks.Errors:
    for i, variable in enumerate(env):
        at = path.at(i)
        name = variable.get("name", "")
        if not name:
            yield required(at.child("name"))
        else:
            yield from checks.rule(name, at.child("name"), names.relaxed_env_var_name)
        if variable.get("valueFrom") is not None:
            yield from _source(variable, at.child("valueFrom"))


def _source(variable: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    source = variable["valueFrom"]
    count = 0
    for member, check in (("configMapKeyRef", _key_ref), ("secretKeyRef", _key_ref)):
        if source.get(member) is not None:
            count += 1
            yield from check(source[member], path.child(member))
    if source.get("fieldRef") is not None:
        count += 1
        yield from field_ref(source["fieldRef"], path.child("fieldRef"), ENV_FIELDS)
    if source.get("resourceFieldRef") is not None:
        count += 1
        yield from resource_ref(source["resourceFieldRef"], path.child("resourceFieldRef"))
    if source.get("fileKeyRef") is not None:
        count += 1
        yield from _file_key(source["fileKeyRef"], path.child("fileKeyRef"))
    if not count:
        yield invalid(
            path,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
            "`secretKeyRef` or `fileKeyRef`",
        )
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _key_ref(ref: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    yield from checks.dns_subdomain(ref.get("name", ""), path.child("name"))
    if not ref.get("key"):
        yield required(path.child("key"))
    else:
        yield from checks.rule(ref["key"], path.child("key"), names.config_map_key)


def _file_key(ref: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if not ref.get("key"):
        yield required(path.child("key"))
    else:
        yield from checks.rule(ref["key"], path.child("key"), names.relaxed_env_var_name)
    if not ref.get("volumeName"):
        yield required(path.child("volumeName"))
    else:
        yield from checks.dns_label(ref["volumeName"], path.child("volumeName"))
    if not ref.get("path"):
        yield required(path.child("path"))
    else:
        yield from paths.no_backsteps(ref["path"], path.child("path"))


def file_volumes(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """The volumes that fileKeyRef names are emptyDirs of the pod."""
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
    for container, at in visit_containers(spec, path):
        for i, variable in enumerate(container.get("env") or ()):
            ref = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if ref is None:
                continue
            name = ref.get("volumeName", "")
            where = at.child("env").at(i).child("valueFrom", "fileKeyRef", "volumeName")
            if name not in volumes:
                yield not_found(where, name)
            elif volumes[name].get("emptyDir") is None:
                yield invalid(where, name, "referenced volume must be of type emptyDir")


def field_ref(ref: ReadOnlyObject, path: FieldPath, allowed: Sequence[str]) -> checks.Errors:
    """``allowed`` sorted, as shown. ``metadata.labels['x']`` and annotations may name one key."""
    for member in ("apiVersion", "fieldPath"):
        if not ref.get(member):
            yield required(path.child(member))
            return
    field = ref["fieldPath"]
    if ref["apiVersion"] != "v1":
        why = f"error converting fieldPath: unsupported pod version: {ref['apiVersion']}"
        yield invalid(path.child("fieldPath"), field, why)
        return
    base, bracket, rest = field.partition("['")
    if base and bracket and rest.endswith("']"):
        key = rest[:-2]
        if base == "metadata.annotations":
            yield from checks.qualified_name(key.lower(), path)
        elif base == "metadata.labels":
            yield from checks.qualified_name(key, path)
        else:
            yield invalid(
                path.child("fieldPath"),
                field,
                f"error converting fieldPath: field label does not support subscript: {field}",
            )
    elif field not in _KNOWN_FIELDS:
        yield invalid(
            path.child("fieldPath"),
            field,
            f"error converting fieldPath: field label not supported: {field}",
        )
    else:
        field = _OLD_NAMES.get(field, field)
        if field not in allowed:
            yield not_supported(path.child("fieldPath"), field, list(allowed))


def resource_ref(
    ref: ReadOnlyObject, path: FieldPath, *, needs_container: bool = False
) -> checks.Errors:
    """``needs_container``: in volumes, which belong to no container."""
    resource = ref.get("resource", "")
    if needs_container and not ref.get("containerName"):
        yield required(path.child("containerName"))
    elif not resource:
        yield required(path.child("resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGEPAGES):
        yield not_supported(path.child("resource"), resource, list(_RESOURCES))
    yield from _divisor(resource, str(ref.get("divisor") or "0"), path.child("divisor"))


def _divisor(resource: str, divisor: str, path: FieldPath) -> checks.Errors:
    if parse_quantity(divisor).is_zero:
        return
    kind = resource.partition(".")[2] if resource in _RESOURCES else ""
    if kind == "cpu" and divisor not in ("1m", "1"):
        yield invalid(
            path, resource, "only divisor's values 1m and 1 are supported with the cpu resource"
        )
    what = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(
        kind, "hugepages" if resource.startswith(_HUGEPAGES) else ""
    )
    if what and divisor not in _SIZES:
        yield invalid(
            path,
            resource,
            f"only divisor's values {', '.join(_SIZES)} are supported with the {what} resource",
        )


def sources(env_from: Sequence[ReadOnlyObject], path: FieldPath) -> checks.Errors:
    """envFrom. Errors about which source is meant name the whole list, as kube-apiserver's do."""
    for i, source in enumerate(env_from):
        if source.get("prefix"):
            yield from checks.rule(
                source["prefix"], path.at(i).child("prefix"), names.relaxed_env_var_name
            )
        members = [m for m in ("configMapRef", "secretRef") if source.get(m) is not None]
        for member in members:
            at = path.at(i).child(member, "name")
            if not source[member].get("name"):
                yield required(at)
            else:
                yield from checks.rule(
                    source[member]["name"], at, names.in_prefix(names.dns1123_subdomain)
                )
        if not members:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(members) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")
