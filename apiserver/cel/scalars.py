"""Simple values of CEL that Python has no type of its own for: unsigned integers, timestamps and
durations."""

from __future__ import annotations


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
    """Nanoseconds since 1970-01-01T00:00:00Z. offset: seconds east of UTC of the zone it was
    written in, which its text keeps."""

    __slots__ = ("offset",)

    def __init__(self, ns: int, offset: int = 0) -> None:
        self.ns = ns
        self.offset = offset


class Duration(_Nanoseconds):
    """Nanoseconds."""

    __slots__ = ()
