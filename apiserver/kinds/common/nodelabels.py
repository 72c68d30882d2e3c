"""Node labels that newer ones replaced, and the warnings about selecting by them (k8s.io/kubernetes
``api/node/util.go``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.fielderrors import FieldPath
from apiserver.meta import names

DEPRECATED = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
}


def selector_term(term: Mapping[str, Any], path: FieldPath) -> Iterator[str]:
    """Warnings for one term of a node selector."""
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        at = path.child("matchExpressions").at(i)
        key = requirement.get("key", "")
        if key in DEPRECATED:
            yield f"{at.child('key')}: {key} is {DEPRECATED[key]}"
        for j, value in enumerate(requirement.get("values") or ()):
            yield from _label_value(value, at.child("values").at(j))


def _label_value(value: str, path: FieldPath) -> Iterator[str]:
    for text in names.label_value(value):
        yield f"{path}: {value} is invalid, {text}"


def selector(value: Mapping[str, Any] | None, path: FieldPath) -> Iterator[str]:
    """Warnings for a label selector of nodes."""
    for i, requirement in enumerate((value or {}).get("matchExpressions") or ()):
        key = requirement.get("key", "")
        if key in DEPRECATED:
            yield f"{path.child('matchExpressions').at(i).child('key')}: {key} is {DEPRECATED[key]}"
    for key in sorted((value or {}).get("matchLabels") or ()):
        if key in DEPRECATED:
            yield f"{path.child('matchLabels', key)}: {DEPRECATED[key]}"
