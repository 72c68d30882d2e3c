"""Maps of CEL with keys that are not all strings: Python takes 1 and True for one key, CEL does
not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final


class _BoolKey:
    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value


_TRUE_KEY: Final = _BoolKey(True)
_FALSE_KEY: Final = _BoolKey(False)


def map_key(key: Any) -> Any:
    """How a key is kept in a dict: numbers by value, whatever their type; booleans apart from
    numbers."""
    if key is True:
        return _TRUE_KEY
    if key is False:
        return _FALSE_KEY
    return key


class Map(dict[Any, Any]):
    """A map with keys that are not all strings; iterates over the keys as CEL knows them."""

    __slots__ = ()

    def put(self, key: Any, value: Any) -> None:
        dict.__setitem__(self, map_key(key), value)

    def __iter__(self) -> Iterator[Any]:
        return (k.value if type(k) is _BoolKey else k for k in dict.__iter__(self))

    def keys(self) -> Any:
        return list(iter(self))

    def items(self) -> Any:
        return ((k.value if type(k) is _BoolKey else k, v) for k, v in dict.items(self))

    def __getitem__(self, key: Any) -> Any:
        return dict.__getitem__(self, map_key(key))

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, map_key(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return dict.get(self, map_key(key), default)
