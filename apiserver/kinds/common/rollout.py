"""Rolling updates and the counters of workloads' status (k8s.io/kubernetes
``apis/apps/validation``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apiserver.fielderrors import FieldPath, invalid
from apiserver.golang.strconv import whole
from apiserver.kinds.common import checks
from apiserver.meta import names

IntOrString = int | str
_NUMBER = re.compile(r"[-+]?[0-9]+")


def value_of(value: IntOrString | None) -> int:
    """The number in front of "%", or the number, which may be a text; 0 for what is neither."""
    if isinstance(value, str):
        number = value if names.percent(value) else value[:-1]
        return whole(number) if _NUMBER.fullmatch(number) else 0
    return value or 0


def not_decremented(
    new: Mapping[str, Any], old: Mapping[str, Any], path: FieldPath
) -> checks.Errors:
    """status.collisionCount only grows."""
    now, was = new.get("collisionCount"), old.get("collisionCount")
    if was is not None and (now is None or now < was):
        yield invalid(path.child("collisionCount"), now or 0, "cannot be decremented")


def counters(
    status: Mapping[str, Any],
    path: FieldPath,
    *fields: str,
    ready: str = "cannot be greater than readyReplicas",
) -> checks.Errors:
    """None of ``fields`` is above status.replicas; availableReplicas is not above readyReplicas
    either."""
    replicas = status.get("replicas", 0)
    for field in fields:
        if status.get(field, 0) > replicas:
            yield invalid(
                path.child(field), status.get(field, 0), "cannot be greater than status.replicas"
            )
    available = status.get("availableReplicas", 0)
    if "availableReplicas" in fields and available > status.get("readyReplicas", 0):
        yield invalid(path.child("availableReplicas"), available, ready)
