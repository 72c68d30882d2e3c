"""Ingress."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common.address_warnings import ip_warnings
from apiserver.kinds.common.addresses import hostname_errors, ip_errors
from apiserver.kinds.networking.ingress_rules import spec_errors
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_CLASS = "kubernetes.io/ingress.class"
_SHOWN_HOSTS = 3


@register("networking.k8s.io", "Ingress")
class Ingress(Kind):
    status = True

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {"loadBalancer": {}}

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(spec_errors(obj.get("spec") or {}, None, FieldPath("spec")))

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        note, name = (
            (obj["metadata"].get("annotations") or {}).get(_CLASS),
            (obj.get("spec") or {}).get("ingressClassName"),
        )
        if note is None or name is None or note == name:
            return []
        return [
            invalid(
                FieldPath("annotations").child(_CLASS),
                note,
                "must match `ingressClassName` when both are specified",
            )
        ]

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        path = FieldPath("status.loadBalancer.ingress")
        ips_before = [x["ip"] for x in _ingress(old) if x.get("ip")]
        errors: FieldErrors = []
        for i, ingress in enumerate(_ingress(obj)):
            if ingress.get("ip"):
                errors += ip_errors(path.at(i).child("ip"), ingress["ip"], ips_before)
            errors += hostname_errors(ingress.get("hostname", ""), path.at(i).child("hostname"))
        return errors

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if context.subresource:
            return [
                w
                for i, x in enumerate(_ingress(obj))
                for w in ip_warnings(f"status.loadBalancer.ingress[{i}]", x.get("ip", ""))
            ]
        notes, named = obj["metadata"].get("annotations") or {}, obj["spec"].get("ingressClassName")
        if old is None and _CLASS in notes and named is None:
            return [
                f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
            ]
        return []

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        name = spec.get("ingressClassName")
        addresses = {x.get("ip") or x.get("hostname", "") for x in _ingress(obj)} - {""}
        return [
            metadata["name"],
            "<none>" if name is None else name,
            _hosts(spec.get("rules") or []),
            ",".join(sorted(addresses)),
            "80, 443" if spec.get("tls") else "80",
            age(metadata.get("creationTimestamp"), now),
        ]


def _ingress(obj: Object) -> list[Object]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def _hosts(rules: list[Object]) -> str:
    """At most three hosts; a rule that comes after them counts as one more, with or without a
    host."""
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == _SHOWN_HOSTS:
            return f"{','.join(hosts)} + {len(rules) - _SHOWN_HOSTS} more..."
        if rule.get("host"):
            hosts.append(rule["host"])
    return ",".join(hosts) or "*"
