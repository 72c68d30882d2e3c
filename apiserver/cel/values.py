"""Values of CEL as plain Python: None, bool, int, float, str, bytes, list and dict are themselves;
the rest are small classes here.

uint is `Uint` (an int), timestamps and durations hold nanoseconds, optional values are `Optional`,
types are `apiserver.cel.types.Type`. JSON objects serve as maps and as structs without being
wrapped. Python conflates 1 and True as keys and in ``==``; CEL does not: maps with keys other than
strings are `Map`, and equality is `equal`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from apiserver.cel.errors import EvalError, no_such_overload
from apiserver.cel.maps import Map
from apiserver.cel.scalars import Duration, Timestamp, Uint
from apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST,
    MAP,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    opaque_type,
)
from apiserver.effort import hold, spend
from apiserver.golang.math import MAX_INT64, MAX_UINT64, MIN_INT64

INT_MIN: Final = MIN_INT64
INT_MAX: Final = MAX_INT64
UINT_MAX: Final = MAX_UINT64
SECOND: Final = 1_000_000_000


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
        return hash(self.present)

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


NONE: Final = Optional(None, present=False)


class SpecialList(list[Any]):
    """A list whose equality and concatenation follow x-kubernetes-list-type; see
    apiserver.cel.schema."""

    __slots__ = ()

    def equal_to(self, other: list[Any]) -> bool:
        raise NotImplementedError

    def plus(self, other: list[Any]) -> list[Any]:
        raise NotImplementedError


class Joined:
    """The concatenation of two lists, neither of them empty, without a copy: ``a + a`` takes no
    room, however often it is done.

    first, second: lists or Joined; size: of both; depth: how many Joined are on top of each
    other."""

    __slots__ = ("_flat", "depth", "first", "second", "size")

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        self.size: int = count(first) + count(second)
        self.depth: int = 1 + max(_depth(first), _depth(second))
        self._flat: list[Any] | None = None

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        stack: list[Any] = [self]
        while stack:
            node = stack.pop()
            while type(node) is Joined:
                spend(1)
                stack.append(node.second)
                node = node.first
            yield from node

    def at(self, index: int) -> Any:
        """The element at an index that there is."""
        spend(self.depth)
        node: Any = self
        while type(node) is Joined:
            size = count(node.first)
            if index < size:
                node = node.first
            else:
                index -= size
                node = node.second
        return node[index]

    def flat(self) -> list[Any]:
        """As one list, for functions that go through all of it. Pays for the room."""
        if self._flat is None:
            hold(8 * self.size)
            spend(self.size // 4)
            self._flat = list(self)
        return self._flat

    def __repr__(self) -> str:
        return quoted(self)


_SHORT, _DEEP = 32, 256


def _depth(items: Any) -> int:
    return items.depth if type(items) is Joined else 0


def count(items: Any) -> int:
    """The length of a list, which may be more than Python's len() can say."""
    return items.size if type(items) is Joined else len(items)


def flat(items: Any) -> list[Any]:
    """A list, or the one that a Joined stands for."""
    plain: list[Any] = items.flat() if type(items) is Joined else items
    return plain


def join(a: Any, b: Any) -> Any:
    """``a + b`` of lists: those that are short are copied, of others both are kept."""
    if isinstance(a, SpecialList):
        spend(3 * (len(a) + count(b)))
        hold(16 * (len(a) + count(b)))
        return a.plus(flat(b))
    if not a:
        return b
    if not b:
        return a
    if type(a) is list and isinstance(b, list) and len(a) + len(b) <= _SHORT:
        return a + b
    joined = Joined(a, b)
    if joined.size > INT_MAX:
        raise EvalError("integer overflow")
    # more than expressions that someone writes come to
    return joined if joined.depth <= _DEEP else joined.flat()


# of one of these, Python's equality of lists and dictionaries is CEL's
_SAME: Final = frozenset({str, int, bool, bytes})
_NUMBERS: Final = frozenset({int, float, Uint})
_COMPARISON: Final = 4
"""Steps of comparing two values."""
_AT_ONCE: Final = 256
"""Values that are compared between two payments."""
_COMPARED: Final = 500
"""Characters that are compared in a step."""
PLAIN: Final = frozenset({str, int, float, bool, bytes, Uint, type(None), Timestamp, Duration})


def equal(a: Any, b: Any) -> bool:
    """Equality of CEL: numbers by value across their types, everything else only within its own
    type. May raise EvalError."""
    ta, tb = type(a), type(b)
    if ta is tb and ta in PLAIN:
        return bool(a == b)
    if ta in _NUMBERS and tb in _NUMBERS:
        return float(a) == float(b) if ta is float or tb is float else bool(a == b)
    if ta is Type and tb is Type:
        return bool(a.kind == b.kind and a.name == b.name)
    spend(_COMPARISON)
    if isinstance(a, list) or ta is Joined:
        return (isinstance(b, list) or tb is Joined) and _equal_lists(a, b)
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and _equal_maps(a, b)
    own: Type | None = getattr(a, "cel_type", None)
    if own is None or ta is Optional:
        return False if ta in PLAIN or tb in PLAIN else bool(a == b)
    if type_of(b).name != own.name:
        raise no_such_overload()  # the types of Kubernetes' libraries compare only with themselves
    return bool(a == b)


def _equal_lists(a: Any, b: Any) -> bool:
    if count(a) != count(b):
        return False
    if isinstance(a, SpecialList):
        spend(_COMPARISON * len(a))
        return a.equal_to(flat(b))
    if type(a) is Joined or type(b) is Joined:
        return all(equal(x, y) for x, y in _pairs(a, b))
    spend(len(a) // 2)
    kinds = set(map(type, a))
    if len(kinds) == 1 and kinds <= _SAME and kinds == set(map(type, b)):
        return _same_items(a, b)
    return all(equal(x, y) for x, y in _pairs(a, b))


def _same_items(a: list[Any], b: list[Any]) -> bool:
    """Of lists of one simple type: many at a time, where they may be long."""
    if len(a) <= _AT_ONCE:
        spend(size_of_text(a[0]) * len(a) // _COMPARED)
        return bool(a == b)
    for at in range(0, len(a), _AT_ONCE):
        part = a[at : at + _AT_ONCE]
        spend(sum(map(size_of_text, part)) // _COMPARED + len(part) // 2)
        if part != b[at : at + _AT_ONCE]:
            return False
    return True


def _pairs(a: Any, b: Any) -> Iterator[tuple[Any, Any]]:
    for at, pair in enumerate(zip(a, b, strict=True)):
        if not at % _AT_ONCE:
            spend(_COMPARISON * _AT_ONCE)
        yield pair


def _equal_maps(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    if len(a) != len(b):
        return False
    spend(_COMPARISON * len(a))
    if type(a) is dict and type(b) is dict:
        kinds = set(map(type, a.values()))
        if len(kinds) == 1 and kinds <= _SAME and kinds == set(map(type, b.values())):
            return a == b
    return all(key in b and equal(value, b[key]) for key, value in a.items())


def contains(items: Any, value: Any) -> bool:
    """``value in items`` for a list, by CEL's equality."""
    return index_of(items, value) >= 0


def index_of(items: Any, value: Any) -> int:
    """Where a list has a value first, by CEL's equality; -1 where nowhere."""
    if type(value) is str and isinstance(items, list):
        return _index_of_text(items, value)
    for at, item in enumerate(items):
        if not at % _AT_ONCE:
            spend(_COMPARISON * min(_AT_ONCE, count(items) - at))
        if equal(item, value):
            return at
    return -1


def _index_of_text(items: list[Any], value: str) -> int:
    at, end = 0, len(items)
    while at < end:
        step = min(_AT_ONCE, end - at)
        spend(step * (1 + len(value) // _COMPARED))
        try:
            return items.index(value, at, at + step)
        except ValueError:
            at += step
    return -1


class Fields:
    """A value with named fields that is no map: an expression has made it of a struct type.
    ``value[name]`` is a field, or raises KeyError; ``name in value`` is what has() says."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        raise NotImplementedError

    def __contains__(self, name: object) -> bool:
        raise NotImplementedError


_TYPES: Final[dict[type, Type]] = {
    type(None): NULL,
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    list: LIST,
    dict: MAP,
    Map: MAP,
    Timestamp: TIMESTAMP,
    Duration: DURATION,
    Type: TYPE,
    Joined: LIST,
}


def type_of(value: Any) -> Type:
    """The runtime type; values of extensions carry theirs as ``cel_type``."""
    cel_type = _TYPES.get(type(value))
    if cel_type is not None:
        return cel_type
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
    if kind is Joined:
        return int(value.size)
    own = getattr(value, "cel_size", None)
    if own is not None:
        return int(own)
    return len(value) if isinstance(value, list | Mapping) else 1


def size_of_text(value: Any) -> int:
    """Characters or bytes of a text, 0 of anything else."""
    return len(value) if isinstance(value, str | bytes) else 0


_SHOWN: Final = 1000


def quoted(value: Any) -> str:
    """A value in an error's text. Of lists and maps only those that are short: what shares its
    parts can be endless."""
    if isinstance(value, str):
        return value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
    if _parts(value, _SHOWN) <= 0:
        return f"a large {type_of(value).name}"
    return str(list(value)) if type(value) is Joined else str(value)


def _parts(value: Any, most: int) -> int:
    """What is left of ``most`` after the parts of a value, each at every place where it is."""
    most -= 1 + size_of_text(value) // 10
    if isinstance(value, list) or type(value) is Joined:
        inner: Any = value
    elif isinstance(value, Mapping):
        inner = (part for item in value.items() for part in item)
    else:
        inner = (value.value,) if type(value) is Optional and value.present else ()
    for part in islice(inner, max(most, 0) + 1):
        if most <= 0:
            break
        most = _parts(part, most)
    return most
