"""APIService (kube-aggregator ``pkg/apis/apiregistration``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.golang.strconv import go_quote
from apiserver.kinds.base import STATUS_KEEPS_METADATA, Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import namerules
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object
from apiserver.meta.times import age, format_time

_SPEC = FieldPath("spec")


@register("apiregistration.k8s.io", "APIService")
class APIService(Kind):
    standard_finalizers = False
    allow_unconditional_update = False
    generation = False
    status = True
    unprinted = frozenset({"status"})
    status_keeps = STATUS_KEEPS_METADATA
    name_rule = staticmethod(namerules.path_segment)

    def default(self, obj: Object, version: str) -> None:
        service = (obj.get("spec") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443
        obj.setdefault("status", {})

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        """What this server serves itself is available at once."""
        super().prepare_create(obj, context)
        obj["status"] = {}
        if (obj.get("spec") or {}).get("service") is None:
            obj["status"] = {"conditions": [local_condition(context.now)]}

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, service = obj["metadata"], (obj.get("spec") or {}).get("service")
        where = (
            f"{service.get('namespace', '')}/{service.get('name', '')}"
            if service is not None
            else "Local"
        )
        return [
            metadata["name"],
            where,
            _available(obj),
            age(metadata.get("creationTimestamp"), now),
        ]


def local_condition(now: datetime) -> Object:
    """The Available condition of an APIService without a service."""
    return {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": format_time(now),
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def _available(obj: Object) -> str:
    for condition in (obj.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "Available":
            status, reason = str(condition.get("status", "")), condition.get("reason")
            return f"{status} ({reason})" if reason and status != "True" else status
    return "Unknown"


def _errors(obj: Object) -> c.Errors:
    spec = obj.get("spec") or {}
    group, version = spec.get("group", ""), spec.get("version", "")
    expected_name = f"{version}.{group}"
    for member in ("generateName", "name"):
        given = obj["metadata"].get(member, "")
        if given and given != expected_name and not names.path_segment(given):
            yield invalid(
                f"metadata.{member}",
                given,
                f'must be `spec.version+"."+spec.group`: {go_quote(expected_name)}',
            )
    if not group and version != "v1":
        yield required(
            _SPEC.child("group"), "only v1 may have an empty group and it better be legacy kube"
        )
    if group:
        yield from _joined(group, _SPEC.child("group"), names.dns1123_subdomain(group))
    yield from _joined(version, _SPEC.child("version"), names.dns1035_label(version))
    for member, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = spec.get(member, 0)
        if not 0 < value <= most:
            yield invalid(_SPEC.child(member), value, f"must be positive and less than {most}")
    yield from _backend(spec)


def _joined(value: str, path: FieldPath, wrong: list[str]) -> c.Errors:
    if wrong:
        yield invalid(path, value, ",".join(wrong))


def _backend(spec: Object) -> c.Errors:
    service, bundle, insecure = (
        spec.get("service"),
        spec.get("caBundle") or "",
        bool(spec.get("insecureSkipTLSVerify")),
    )
    if service is None:
        if bundle:
            size = len(bundle.rstrip("=")) * 3 // 4
            yield invalid(
                _SPEC.child("caBundle"),
                f"{size} bytes",
                "local APIServices may not have a caBundle",
            )
        if insecure:
            yield invalid(
                _SPEC.child("insecureSkipTLSVerify"),
                True,
                "local APIServices may not have insecureSkipTLSVerify",
            )
        return
    path = _SPEC.child("service")
    for member in ("namespace", "name"):
        if not service.get(member):
            yield required(path.child(member))
    wrong = names.port_number(service.get("port", 0))
    if wrong:
        yield invalid(
            path.child("port"), service.get("port", 0), f"port is not valid: {','.join(wrong)}"
        )
    if insecure and bundle:
        yield invalid(
            _SPEC.child("insecureSkipTLSVerify"), True, "may not be true if caBundle is present"
        )
