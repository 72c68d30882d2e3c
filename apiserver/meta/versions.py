"""API versions in the order in which Kubernetes prefers them (k8s.io/apimachinery
``version.CompareKubeAwareVersionStrings``)."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sorts v2 before v1 before v2beta1 before v1alpha1, and names that are no versions last,
    alphabetically."""
    m = _VERSION.fullmatch(version)
    if m is None:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[m[2]]
    return (stage, -int(m[1]), -int(m[3] or 0), "")
