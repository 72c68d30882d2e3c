"""Empty lists and maps that decoding leaves out, put back for those who tell them from none."""

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
        *way, name = empty.path
        parent: Any = restored
        for step in way:
            parent = _member(parent, step)
        if isinstance(parent, dict) and parent.get(str(name)) is None:
            parent[str(name)] = empty.type()
    return restored


def _member(parent: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return parent.get(step) if isinstance(parent, dict) else None
    return parent[step] if isinstance(parent, list) and step < len(parent) else None
