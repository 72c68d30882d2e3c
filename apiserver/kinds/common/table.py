"""What many kinds print in tables: ages, container names and images, roles of timestamps."""

from __future__ import annotations

from datetime import datetime

from apiserver.meta.objects import ReadOnlyObject
from apiserver.meta.times import age


def name(obj: ReadOnlyObject) -> str:
    return str(obj["metadata"].get("name", ""))


def created(obj: ReadOnlyObject, now: datetime) -> str:
    """The age of an object."""
    return age(obj["metadata"].get("creationTimestamp"), now)


def containers(spec: ReadOnlyObject) -> tuple[str, str]:
    """Names and images of the regular containers, each joined by commas."""
    listed = spec.get("containers") or ()
    return ",".join(c.get("name", "") for c in listed), ",".join(c.get("image", "") for c in listed)


def truth(value: bool | None) -> str:
    """An optional flag."""
    return "<unset>" if value is None else str(bool(value))
