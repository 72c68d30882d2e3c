"""Empty lists and maps that decoding leaves out, put back for those who tell them from none: what
was decoded a moment ago has them in kube-apiserver, what was stored has not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apiserver.meta.objects import Object, copy_json
from apiserver.schema.decode_errors import Empty


def with_empties(obj: Object, empties: Iterable[Empty]) -> Object:
    """A copy of ``obj`` with ``empties`` where there is nothing in their place now; what stood
    around them may have gone, too."""
    restored: Object = copy_json(obj)
    for empty in empties:
        parent = _place(restored, empty)
        if parent is not None:
            parent[str(empty.path[-1])] = empty.type()
    return restored


def any_of_spec(obj: Object, empties: Iterable[Empty]) -> bool:
    """Whether one of them has its place in ``obj``, but in its metadata or status."""
    return any(
        empty.path[0] not in ("metadata", "status") and _place(obj, empty) is not None
        for empty in empties
    )


def _place(obj: Object, empty: Empty) -> Object | None:
    """Where it stood, if nothing does now."""
    *way, name = empty.path
    parent: Any = obj
    for step in way:
        parent = _member(parent, step)
    return parent if isinstance(parent, dict) and parent.get(str(name)) is None else None


def in_template_metadata(empty: Empty) -> bool:
    """Whether it stands in the metadata of something inside the object: of claim templates nothing
    but labels and annotations may be there at all."""
    return len(empty.path) > 2 and empty.path[-2] == "metadata"


def _member(parent: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return parent.get(step) if isinstance(parent, dict) else None
    return parent[step] if isinstance(parent, list) and step < len(parent) else None
