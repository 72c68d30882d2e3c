"""spec.metrics of a HorizontalPodAutoscaler (k8s.io/kubernetes ``apis/autoscaling/validation``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiserver.fielderrors import FieldPath, forbidden, invalid, not_supported, required
from apiserver.kinds.common import checks, resources
from apiserver.meta import names
from apiserver.meta.objects import ReadOnlyObject
from apiserver.meta.quantity import parse_quantity

TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_MEMBERS = ("object", "external", "pods", "resource", "containerResource")
_RAW_OR_UTILIZATION = "must set either a target raw value or a target utilization"


def validate(
    metrics: Sequence[ReadOnlyObject], path: FieldPath, min_replicas: int | None
) -> checks.Errors:
    external = False
    for i, metric in enumerate(metrics):
        yield from _metric(metric, path.at(i))
        external = external or metric.get("type") in ("Object", "External")
    if min_replicas == 0 and not external:
        yield forbidden(
            path,
            "must specify at least one Object or External metric to support scaling to zero "
            "replicas",
        )


def _metric(metric: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    kind = metric.get("type", "")
    if not kind:
        yield required(path.child("type"), "must specify a metric source type")
    if kind not in TYPES:
        yield not_supported(path.child("type"), kind, list(TYPES))
    given = [m for m in _MEMBERS if metric.get(m) is not None]
    for member in given[:1]:
        yield from _SOURCES[member](metric[member], path.child(member))
    expected = kind[:1].lower() + kind[1:] if kind in TYPES else ""
    if not expected:
        yield not_supported(path.child("type"), kind, list(TYPES))
    elif metric.get(expected) is None:
        yield required(
            path.child(expected), "must populate information for the given metric source"
        )
    if len(given) != 1:
        for member in given:
            if member != expected:
                yield forbidden(path.child(member), "must populate the given metric source only")


def scaled(ref: ReadOnlyObject, path: FieldPath, old: ReadOnlyObject | None) -> checks.Errors:
    """The reference to what is scaled, of an API group: nothing else of the core API can be than
    replication controllers. A kind and version that stay are not looked at again. ``old``: the
    stored one."""
    yield from _kind_and_name(ref, path)
    kind, version = ref.get("kind", ""), ref.get("apiVersion", "")
    if old is not None and (kind, version) == (old.get("kind", ""), old.get("apiVersion", "")):
        return
    group, slash, _ = version.partition("/")
    if version.count("/") < 2 and not (slash and group) and kind != "ReplicationController":
        yield invalid(path.child("apiVersion"), version, "apiVersion must specify API group")
    yield from _group_version(version, path)


def reference(ref: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """A CrossVersionObjectReference."""
    yield from _kind_and_name(ref, path)
    yield from _group_version(ref.get("apiVersion", ""), path)


def _kind_and_name(ref: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """Each fit for a URL."""
    for field in ("kind", "name"):
        if not ref.get(field):
            yield required(path.child(field))
        else:
            yield from checks.rule(ref[field], path.child(field), names.path_segment)


def _group_version(version: str, path: FieldPath) -> checks.Errors:
    if version.count("/") > 1:
        yield invalid(
            path.child("apiVersion"), version, f"unexpected GroupVersion string: {version}"
        )


def _identifier(metric: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    name = metric.get("name", "")
    if not name:
        yield required(path.child("name"), "must specify a metric name")
    else:
        yield from checks.rule(name, path.child("name"), names.path_segment)


def _target(target: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    kind = target.get("type", "")
    if not kind:
        yield required(path.child("type"), "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid(
            path.child("type"), kind, "must be either Utilization, Value, or AverageValue"
        )
    for field in ("value", "averageValue"):
        if target.get(field) is not None and not _is_positive(target[field]):
            yield invalid(path.child(field), target[field], "must be positive")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        yield invalid(path.child("averageUtilization"), utilization, "must be greater than 0")


def _is_positive(value: str) -> bool:
    return parse_quantity(value).sign > 0


def _object(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    target = source.get("target") or {}
    yield from reference(source.get("describedObject") or {}, path.child("describedObject"))
    yield from _identifier(source.get("metric") or {}, path.child("metric"))
    yield from _target(target, path.child("target"))
    if target.get("value") is None and target.get("averageValue") is None:
        yield required(
            path.child("target", "averageValue"), "must set either a target value or averageValue"
        )


def _external(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    target = source.get("target") or {}
    yield from _identifier(source.get("metric") or {}, path.child("metric"))
    yield from _target(target, path.child("target"))
    given = [target.get(field) is not None for field in ("value", "averageValue")]
    if not any(given):
        yield required(
            path.child("target", "averageValue"),
            "must set either a target value for metric or a per-pod target",
        )
    if all(given):
        yield forbidden(
            path.child("target", "value"),
            "may not set both a target value for metric and a per-pod target",
        )


def _pods(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    target = source.get("target") or {}
    yield from _identifier(source.get("metric") or {}, path.child("metric"))
    yield from _target(target, path.child("target"))
    if target.get("averageValue") is None:
        yield required(
            path.child("target", "averageValue"), "must specify a positive target averageValue"
        )


def _resource(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if not source.get("name"):
        yield required(path.child("name"), "must specify a resource name")
    yield from _amount(source, path)


def _amount(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    target = source.get("target") or {}
    yield from _target(target, path.child("target"))
    given = [target.get(field) is not None for field in ("averageUtilization", "averageValue")]
    if not any(given):
        yield required(path.child("target", "averageUtilization"), _RAW_OR_UTILIZATION)
    if all(given):
        yield forbidden(
            path.child("target", "averageValue"),
            "may not set both a target raw value and a target utilization",
        )


def _container_resource(source: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    if not source.get("name"):
        yield required(path.child("name"), "must specify a resource name")
    else:
        yield from resources.container_resource_name(source["name"], path.child("name"))
    if not source.get("container"):
        yield required(path.child("container"), "must specify a container")
    else:
        yield from checks.dns_label(source["container"], path.child("container"))
    yield from _amount(source, path)


_SOURCES: dict[str, Callable[[ReadOnlyObject, FieldPath], checks.Errors]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
