"""Properties that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """As functools.cached_property without its lock, which Python 3.11 holds for all objects of the
    class while it computes, and which a thread that is ended might leave held. Two threads may
    compute the same; one result stays. The object needs a ``__dict__``."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self._name = compute, compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, obj: None, of: type[Any]) -> once[T]: ...
    @overload
    def __get__(self, obj: object, of: type[Any]) -> T: ...

    def __get__(self, obj: object, of: type[Any]) -> once[T] | T:
        if obj is None:
            return self
        value: T = obj.__dict__.setdefault(self._name, self._compute(obj))
        return value
