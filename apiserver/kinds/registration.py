"""How a kind's file announces itself: ``@register(group, kind)`` on its Kind subclass.

One instance serves all versions of the kind. `apiserver.kinds.imports` lists every file, so that
nothing is registered by accident of import order; `hooks_for` gives the base Kind to kinds without
a file of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from apiserver.kinds.base import Kind
from apiserver.meta.gvk import GroupKind

K = TypeVar("K", bound=type[Kind])

_REGISTERED: dict[GroupKind, Kind] = {}


def register(group: str, kind: str) -> Callable[[K], K]:
    """Class decorator: makes the class the hooks of ``kind`` in ``group``. A second class for the
    same kind is a programming error."""

    def decorate(cls: K) -> K:
        key = GroupKind(group, kind)
        if key in _REGISTERED:
            raise ValueError(
                f"{key} is registered twice: {type(_REGISTERED[key]).__qualname__}, "
                f"{cls.__qualname__}"
            )
        instance = cls()
        instance.group, instance.kind = group, kind
        _REGISTERED[key] = instance
        return cls

    return decorate


def hooks_for(group: str, kind: str) -> Kind:
    """The registered hooks, or a base Kind that knows its names."""
    key = GroupKind(group, kind)
    kind_class = _REGISTERED.get(key)
    if kind_class is None:
        kind_class = Kind()
        kind_class.group, kind_class.kind = group, kind
        _REGISTERED[key] = kind_class
    return kind_class
