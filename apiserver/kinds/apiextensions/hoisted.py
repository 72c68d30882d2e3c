"""A CustomResourceDefinition's spec as kube-apiserver holds it while it validates: what all
versions say alike stands at the top.

Errors name fields of that form (``spec.validation.openAPIV3Schema``, ``spec.subresources``), so it
decides their paths (k8s.io/apiextensions-apiserver ``apis/apiextensions/v1/conversion.go``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apiserver.fielderrors import FieldPath
from apiserver.meta.objects import Object

SPEC = FieldPath("spec")
MEMBERS = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


@dataclass(slots=True)
class Part:
    """The value that a member has in some versions. path: where errors say it stands; versions:
    the indices in ``spec.versions`` of those that have it."""

    value: Any
    path: FieldPath
    versions: tuple[int, ...]


def parts(spec: Object, member: str) -> list[Part]:
    """The values of a member of ``spec.versions``: one at the top when all versions agree, else one
    for each version that has any."""
    versions = spec.get("versions") or []
    values = [v.get(member) for v in versions]
    if not values:
        return []
    if shared(values):
        everywhere = tuple(range(len(values)))
        return (
            [Part(values[0], SPEC.child(MEMBERS[member]), everywhere)]
            if values[0] is not None
            else []
        )
    at = SPEC.child("versions")
    return [
        Part(value, at.at(i).child(member), (i,))
        for i, value in enumerate(values)
        if value is not None
    ]


def shared(values: Sequence[Any]) -> bool:
    """Whether all versions say alike; a list that is empty says what none says."""
    return all(_listed(value) == _listed(values[0]) for value in values[1:])


def _listed(value: Any) -> Any:
    return None if value == [] else value


def has_status(version: Object) -> bool:
    return (version.get("subresources") or {}).get("status") is not None
