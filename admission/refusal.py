"""How a request that admission refuses is called."""

from __future__ import annotations

from admission.attributes import Attributes
from apiserver.errors import Forbidden


def object_name(attributes: Attributes) -> str:
    """As errors of admission name the object, which may not have its name yet (k8s.io/apiserver
    ``admission/errors.go`` extractResourceName)."""
    metadata = (attributes.object or {}).get("metadata") or {}
    name: str = attributes.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
    return name


def forbidden(attributes: Attributes, why: str) -> Forbidden:
    """The request is refused because of what follows "is forbidden: "."""
    return Forbidden(attributes.group_resource, object_name(attributes), why)
