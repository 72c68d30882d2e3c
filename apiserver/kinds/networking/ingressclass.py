"""IngressClass."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    ErrorType,
    FieldErrors,
    FieldPath,
    domain_prefixed_path,
    forbidden,
    not_supported,
    required,
    too_long,
)
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.networking.ingress_rules import reference_errors
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_SPEC = FieldPath("spec")
_SCOPES = ["Cluster", "Namespace"]
_DEFAULT = "ingressclass.kubernetes.io/is-default-class"


@register("networking.k8s.io", "IngressClass")
class IngressClass(Kind):
    declared = Declared(
        {
            "spec.parameters": [t.alpha(t.optional())],
            "spec.parameters.kind": [t.alpha(t.required())],
            "spec.parameters.name": [t.alpha(t.required())],
        }
    )

    def default(self, obj: Object, version: str) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if parameters is not None and parameters.get("scope") is None:
            parameters["scope"] = "Cluster"

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj.get("spec") or {}
        return [
            *_controller(spec.get("controller", "")),
            *_parameters(spec.get("parameters"), _SPEC.child("parameters")),
        ]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        new, before = ((o.get("spec") or {}).get("controller", "") for o in (obj, old))
        return list(c.immutable(new, before, _SPEC.child("controller")))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        parameters, parameters_text = spec.get("parameters"), "<none>"
        if parameters is not None:
            group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") is not None else ""
            parameters_text = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
        default = (metadata.get("annotations") or {}).get(_DEFAULT) == "true"
        return [
            f"{metadata['name']} (default)" if default else metadata["name"],
            spec.get("controller", ""),
            parameters_text,
            age(metadata.get("creationTimestamp"), now),
        ]


def _controller(value: str) -> c.Errors:
    path = _SPEC.child("controller")
    if len(value.encode()) > 250:
        yield too_long(path, 250)
    yield from domain_prefixed_path(value, path)


def _parameters(value: Object | None, path: FieldPath) -> c.Errors:
    if value is None:
        return
    for error in reference_errors(value, path):
        yield from covered([error]) if error.type is ErrorType.REQUIRED else [error]
    scope, namespace = value.get("scope"), value.get("namespace")
    if scope is None:
        yield required(path.child("scope"))
    elif scope not in _SCOPES:
        yield not_supported(path.child("scope"), scope, _SCOPES)
    elif scope == "Cluster":
        if namespace is not None:
            yield forbidden(path.child("namespace"), "`parameters.scope` is set to 'Cluster'")
    elif namespace is None:
        yield required(path.child("namespace"), "`parameters.scope` is set to 'Namespace'")
    else:
        yield from c.dns_label(namespace, path.child("namespace"))
