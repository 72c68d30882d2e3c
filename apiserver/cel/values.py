"""Values of CEL as plain Python: None, bool, int, float, str, bytes, list and dict are themselves; the rest are small classes here.

uint is `Uint` (an int), timestamps and durations hold nanoseconds, optional values are `Optional`, types are `apiserver.cel.types.Type`.
JSON objects serve as maps and as structs without being wrapped. Python conflates 1 and True as keys and in ``==``; CEL does not: maps with
keys other than strings are `Map`, and equality is `equal`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apiserver.cel.errors import no_such_overload
from apiserver.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, LIST, MAP, NULL, STRING, TIMESTAMP, TYPE, UINT, Type, opaque_type

INT_MIN: Final = -(1 << 63)
INT_MAX: Final = (1 << 63) - 1
UINT_MAX: Final = (1 << 64) - 1
SECOND: Final = 1_000_000_000


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"

    def __str__(self) -> str:
        return int.__repr__(self)


class _Nanoseconds:
    __slots__ = ("ns",)

    def __init__(self, ns: int) -> None:
        self.ns = ns

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.ns == self.ns

    def __hash__(self) -> int:
        return hash(self.ns)

    def __lt__(self, other: _Nanoseconds) -> bool:
        return self.ns < other.ns

    def __le__(self, other: _Nanoseconds) -> bool:
        return self.ns <= other.ns

    def __gt__(self, other: _Nanoseconds) -> bool:
        return self.ns > other.ns

    def __ge__(self, other: _Nanoseconds) -> bool:
        return self.ns >= other.ns

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ns})"


class Timestamp(_Nanoseconds):
    """Nanoseconds since 1970-01-01T00:00:00Z. offset: seconds east of UTC of the zone it was written in, which its text keeps."""

    __slots__ = ("offset",)

    def __init__(self, ns: int, offset: int = 0) -> None:
        self.ns = ns
        self.offset = offset


class Duration(_Nanoseconds):
    """Nanoseconds."""

    __slots__ = ()


class Optional:
    """A value that may be absent; `NONE` is the absent one."""

    __slots__ = ("present", "value")
    cel_type: Final = opaque_type("optional_type", DYN)

    def __init__(self, value: Any, present: bool = True) -> None:
        self.value = value
        self.present = present

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Optional) or self.present is not other.present:
            return False
        return not self.present or equal(self.value, other.value)

    def __hash__(self) -> int:
        return hash((self.present, repr(self.value)))

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


NONE: Final = Optional(None, present=False)


class _BoolKey:
    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value


_TRUE_KEY: Final = _BoolKey(True)
_FALSE_KEY: Final = _BoolKey(False)


def map_key(key: Any) -> Any:
    """How a key is kept in a dict: numbers by value, whatever their type; booleans apart from numbers."""
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
        return [(k.value if type(k) is _BoolKey else k, v) for k, v in dict.items(self)]

    def __getitem__(self, key: Any) -> Any:
        return dict.__getitem__(self, map_key(key))

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, map_key(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return dict.get(self, map_key(key), default)


class SpecialList(list[Any]):
    """A list whose equality and concatenation follow x-kubernetes-list-type; see apiserver.cel.schema."""

    __slots__ = ()

    def equal_to(self, other: list[Any]) -> bool:
        raise NotImplementedError

    def plus(self, other: list[Any]) -> list[Any]:
        raise NotImplementedError


# of one of these, Python's equality of lists and dictionaries is CEL's
_SAME: Final = frozenset({str, int, bool, bytes})
_NUMBERS: Final = frozenset({int, float, Uint})
PLAIN: Final = frozenset({str, int, float, bool, bytes, Uint, type(None), Timestamp, Duration})


def equal(a: Any, b: Any) -> bool:
    """Equality of CEL: numbers by value across their types, everything else only within its own type. May raise EvalError."""
    ta, tb = type(a), type(b)
    if ta is tb and ta in PLAIN:
        return bool(a == b)
    if ta in _NUMBERS and tb in _NUMBERS:
        return float(a) == float(b) if ta is float or tb is float else bool(a == b)
    if ta is Type and tb is Type:
        return bool(a.kind == b.kind and a.name == b.name)
    if isinstance(a, list):
        return isinstance(b, list) and _equal_lists(a, b)
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and _equal_maps(a, b)
    own: Type | None = getattr(a, "cel_type", None)
    if own is None or ta is Optional:
        return False if ta in PLAIN or tb in PLAIN else bool(a == b)
    if type_of(b).name != own.name:
        raise no_such_overload()  # the types of Kubernetes' libraries compare only with themselves
    return bool(a == b)


def _equal_lists(a: list[Any], b: list[Any]) -> bool:
    if isinstance(a, SpecialList):
        return a.equal_to(b)
    if len(a) != len(b):
        return False
    kinds = set(map(type, a))
    if len(kinds) == 1 and kinds <= _SAME and kinds == set(map(type, b)):
        return a == b
    return all(equal(x, y) for x, y in zip(a, b, strict=True))


def _equal_maps(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    if len(a) != len(b):
        return False
    if type(a) is dict and type(b) is dict:
        kinds = set(map(type, a.values()))
        if len(kinds) == 1 and kinds <= _SAME and kinds == set(map(type, b.values())):
            return a == b
    return all(key in b and equal(value, b[key]) for key, value in a.items())


def contains(items: Any, value: Any) -> bool:
    """``value in items`` for a list, by CEL's equality."""
    if type(value) is str:
        return value in items
    return any(equal(value, item) for item in items)


_TYPES: Final[dict[type, Type]] = {
    type(None): NULL, bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES, list: LIST, dict: MAP, Map: MAP,
    Timestamp: TIMESTAMP, Duration: DURATION, Type: TYPE,
}  # fmt: skip


def type_of(value: Any) -> Type:
    """The runtime type; values of extensions carry theirs as ``cel_type``."""
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    own: Type | None = getattr(value, "cel_type", None)
    if own is not None:
        return own
    return LIST if isinstance(value, list) else MAP if isinstance(value, Mapping) else DYN


def size(value: Any) -> int:
    """Size for costs: of strings, bytes, lists and maps their length, of everything else 1."""
    kind = type(value)
    if kind is str or kind is list or kind is dict or kind is bytes:
        return len(value)
    if kind in PLAIN:
        return 1
    if kind is Optional:
        return size(value.value) if value.present else 1
    own = getattr(value, "cel_size", None)
    if own is not None:
        return int(own)
    return len(value) if isinstance(value, list | Mapping) else 1
