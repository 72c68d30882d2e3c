"""Why bytes are not one well-formed CBOR data item, as fxamacker/cbor v2 says it (``valid.go``,
with the options of k8s.io/apimachinery ``runtime/serializer/cbor/internal/modes``).

Only asked about what the reader has refused: Go looks at the form of all of it first, so that an
error of form wins over what a value is.
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

_TYPES = (
    "positive integer",
    "negative integer",
    "byte string",
    "UTF-8 text string",
    "array",
    "map",
    "tag",
    "primitives",
)
_INTEGERS, _STRINGS, _ARRAY, _MAP, _TAG, _PRIMITIVES = (0, 1), (2, 3), 4, 5, 6, 7
_SIZES = {24: 1, 25: 2, 26: 4, 27: 8}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_OPEN, _BREAK = 31, 0xFF
_BIGNUMS = (2, 3)
_MOST_LEVELS = 10_000
_MOST_LOOKED_AT = 100_000
"""Heads of items: a body of three million ones took 15 s to be told what is wrong with it."""
_MOST_PAIRS, _MOST_ELEMENTS, _MOST_BYTES = 2_097_152, 2_147_483_647, 2**63 - 1
_REFUSED = "cbor: data item of cbor type {} is not accepted by protocol: {}"
_END, _UNEXPECTED_BREAK = "unexpected EOF", 'cbor: unexpected "break" code'


class _Fault(Exception):
    pass


class TooLong(Exception):
    """It has too many parts for what it is worth."""


class _Head(NamedTuple):
    """The first bytes of an item; value: its argument, None where the length is left open."""

    type: int
    value: int | None


def fault(data: bytes) -> str:
    """The error's text, "" where the form is right. Raises TooLong where that cannot be said
    within reason."""
    try:
        end = _Scan(data).item()
    except _Fault as e:
        return str(e)
    rest = len(data) - end
    return f"cbor: {rest} bytes of extraneous data starting at index {end}" if rest else ""


class _Scan:
    """Goes over the bytes once. waiting: for each list and map that is open, how many items it
    still needs, or, where that is left open, minus one and then one less for each."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.left = data, 0, _MOST_LOOKED_AT
        self.waiting: list[tuple[int, int]] = []

    def item(self) -> int:
        """Where the item ends."""
        self._value()
        while self.waiting:
            kind, left = self.waiting.pop()
            if left < 0 and self._peek() == _BREAK:
                if kind == _MAP and left % 2 == 0:
                    raise _Fault(_UNEXPECTED_BREAK)
                self.at += 1
            elif left:
                self.waiting.append((kind, left - 1))
                self._value()
        return self.at

    def _value(self) -> None:
        head = self._head()
        while head.type == _TAG:
            self._peek()
            if head.value in _BIGNUMS:
                raise _Fault(_REFUSED.format("tag", "bignum"))
            head = self._head()
        if head.type in _STRINGS:
            self._string(head)
        elif head.type in (_ARRAY, _MAP):
            self._open(head)

    def _open(self, head: _Head) -> None:
        if len(self.waiting) == _MOST_LEVELS:
            raise _Fault(f"cbor: exceeded max nested level {_MOST_LEVELS}")
        if head.value is None:
            self.waiting.append((head.type, -1))
            return
        if head.value > _MOST_BYTES:
            raise _Fault(f"{self._length(head)} is too large, it would cause integer overflow")
        if head.type == _ARRAY and head.value > _MOST_ELEMENTS:
            raise _Fault(f"cbor: exceeded max number of elements {_MOST_ELEMENTS} for CBOR array")
        if head.type == _MAP and head.value > _MOST_PAIRS:
            raise _Fault(f"cbor: exceeded max number of key-value pairs {_MOST_PAIRS} for CBOR map")
        self.waiting.append((head.type, head.value * (2 if head.type == _MAP else 1)))

    def _string(self, head: _Head) -> None:
        if head.value is not None:
            if head.value > _MOST_BYTES:
                raise _Fault(f"{self._length(head)} is too large, causing integer overflow")
            if len(self.data) - self.at < head.value:
                raise _Fault(_END)
            self.at += head.value
            return
        name = _TYPES[head.type]
        while self._peek() != _BREAK:
            part, info = divmod(self._peek(), 32)
            if part != head.type:
                raise _Fault(
                    f"cbor: wrong element type {_TYPES[part]} for indefinite-length {name}"
                )
            if info == _OPEN:
                raise _Fault(f"cbor: indefinite-length {name} chunk is not definite-length")
            self._string(self._head())
        self.at += 1

    def _length(self, head: _Head) -> str:
        return f"cbor: {_TYPES[head.type]} length {head.value}"

    def _peek(self) -> int:
        if self.at == len(self.data):
            raise _Fault(_END)
        return self.data[self.at]

    def _head(self) -> _Head:
        kind, info = divmod(self._peek(), 32)
        self.at += 1
        self.left -= 1
        if self.left < 0:
            raise TooLong
        if info < 24:
            return _Head(kind, info)
        if info == _OPEN and kind == _PRIMITIVES:
            raise _Fault(_UNEXPECTED_BREAK)
        if info == _OPEN and kind not in (*_INTEGERS, _TAG):
            return _Head(kind, None)
        if info not in _SIZES:
            raise _Fault(f"cbor: invalid additional information {info} for type {_TYPES[kind]}")
        argument = self.data[self.at : self.at + _SIZES[info]]
        if len(argument) < _SIZES[info]:
            raise _Fault(_END)
        self.at += len(argument)
        if kind == _PRIMITIVES:
            _check_primitive(info, argument)
        return _Head(kind, int.from_bytes(argument, "big"))


def _check_primitive(info: int, argument: bytes) -> None:
    if info not in _FLOATS:
        if argument[0] < 32:
            raise _Fault(f"cbor: invalid simple value {argument[0]} for type primitives")
        return
    number = struct.unpack(_FLOATS[info], argument)[0]
    if not math.isfinite(number):
        what = "NaN" if math.isnan(number) else "infinity"
        raise _Fault(_REFUSED.format("primitives", f"floating-point {what}"))
