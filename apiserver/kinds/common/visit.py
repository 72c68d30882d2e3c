"""Walking over all containers of a pod, with their paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.fielderrors import FieldPath


def visit_containers(
    spec: Mapping[str, Any], path: FieldPath
) -> Iterator[tuple[Mapping[str, Any], FieldPath]]:
    """Init containers, containers, ephemeral containers: (container, its path)."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(name) or ()):
            yield container, path.child(name).at(i)
