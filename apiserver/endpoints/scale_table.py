"""The Table of a Scale: what kubectl prints for ``--subresource=scale``.

Source: k8s.io/kubernetes ``printers/internalversion`` (scaleColumnDefinitions),
k8s.io/apiextensions-apiserver ``apiserver/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.kinds.base import Column
from apiserver.kinds.common import table
from apiserver.meta.objects import Object
from apiserver.registry.scope import Scope
from apiserver.schema.builtin import definition
from apiserver.schema.definitions import META

_AUTOSCALING = "io.k8s.api.autoscaling.v1."


def columns(scope: Scope) -> tuple[Column, ...]:
    custom = not scope.resource.has_go_type
    desired, available = (
        _described(_AUTOSCALING + "ScaleSpec", "replicas"),
        _described(_AUTOSCALING + "ScaleStatus", "replicas"),
    )
    return (
        Column("Name", "string", "name" if custom else "", _described(META + "ObjectMeta", "name")),
        Column("Desired", "integer", "", "Number of desired replicas" if custom else desired),
        Column("Available", "integer", "", "Number of actual replicas" if custom else available),
        Column(
            "Age",
            "date" if custom else "string",
            "",
            _described(META + "ObjectMeta", "creationTimestamp"),
        ),
    )


def _described(struct: str, member: str) -> str:
    return (definition(struct).properties or {})[member].description


def cells(scope: Scope, scale: Object) -> Sequence[Any]:
    """A custom Scale that leaves replicas out has nothing to print."""
    missing = 0 if scope.resource.has_go_type else None
    replicas = [scale.get(part, {}).get("replicas", missing) for part in ("spec", "status")]
    return [table.name(scale), *replicas, table.created(scale, scope.now)]
