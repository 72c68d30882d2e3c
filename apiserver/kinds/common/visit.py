"""Walking over the containers of a pod."""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.fielderrors import FieldPath
from apiserver.meta.objects import Object, ReadOnlyObject

_LISTS = ("initContainers", "containers", "ephemeralContainers")
"""In the order in which kubernetes names them."""


def containers(spec: ReadOnlyObject, *lists: str) -> Iterator[Object]:
    """Of those lists of a PodSpec, of all by default."""
    for name in lists or _LISTS:
        yield from spec.get(name) or ()


def visit_containers(spec: ReadOnlyObject, path: FieldPath) -> Iterator[tuple[Object, FieldPath]]:
    """All of them, each with its path."""
    for name in _LISTS:
        for i, container in enumerate(spec.get(name) or ()):
            yield container, path.child(name).at(i)
