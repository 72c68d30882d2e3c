"""Go's package ``encoding/json``: why a text is not JSON, what values are called in errors, how
numbers and HTML's characters are written.

The scanner is only reached after a fast parser has refused the text, so it is written for clarity:
it raises at the first byte that cannot go on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import orjson

from apiserver.golang.strconv import ESCAPES

END = "unexpected end of JSON input"
MAX_DEPTH_EXCEEDED = "exceeded max depth"
_MAX_DEPTH = 10_000
_SPACE = b" \t\r\n"
_BLANK = 0x20
_HEX = b"0123456789abcdefABCDEF"
_DIGITS = b"0123456789"


def type_name(value: Any, *, number: bool = False) -> str:
    """What the decoder calls a JSON value; ``number``: with its digits, for a number that does not
    fit a numeric type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value!r}" if number else "number"
    return next((name for of, name in _NAMES.items() if isinstance(value, of)), "null")


_NAMES: dict[type, str] = {str: "string", list: "array", dict: "object"}


def go_float(value: float) -> str:
    """A float64 as encoding/json writes it: shortest form, no ``.0``, exponents from 1e21 up and
    below 1e-6."""
    if not math.isfinite(value):
        raise ValueError(f"json: unsupported value: {value}")
    size = abs(value)
    if size != 0 and (size < 1e-6 or size >= 1e21):
        mantissa, _, exponent = repr(value).partition("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
    return format(Decimal(repr(value)), "f").removesuffix(".0")


def number(value: float) -> str:
    """An int64 or a float64 as encoding/json writes it."""
    return str(value) if isinstance(value, int) else go_float(value)


def escape_html(text: bytes) -> bytes:
    """JSON as Marshal writes it: with ``<``, ``>``, ``&`` and U+2028 and U+2029 as escapes."""
    if b"<" in text or b">" in text or b"&" in text:
        text = text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
    if b"\xe2\x80" in text:
        text = text.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return text


_WHOLE_FLOAT = re.compile(rb"\.0[,}\]]")  # both may match inside strings, which only costs time
_EXPONENT = re.compile(rb"e[-+]?[0-9]+[,}\]]")


def in_key_order(value: Any) -> Any:
    """The JSON value with the members of objects as Marshal writes those of a map."""
    if isinstance(value, dict):
        return {name: in_key_order(value[name]) for name in sorted(value)}
    return [in_key_order(item) for item in value] if isinstance(value, list) else value


def marshal(value: Any, options: int = 0) -> bytes:
    """JSON as Marshal writes it. ``options``: orjson's."""
    try:
        out = orjson.dumps(value, option=options)
    except TypeError:  # nested deeper than orjson goes
        indent = 2 if options & orjson.OPT_INDENT_2 else None
        text = json.dumps(
            value,
            ensure_ascii=False,
            indent=indent,
            separators=None if indent else (",", ":"),
            allow_nan=False,
            sort_keys=bool(options & orjson.OPT_SORT_KEYS),
        )
        out = text.encode()
    if _WHOLE_FLOAT.search(out) or _EXPONENT.search(out) or isinstance(value, float):
        out = orjson.dumps(_go_floats(value), option=options)
    return escape_html(out)


def _go_floats(value: Any) -> Any:
    if isinstance(value, float):
        return orjson.Fragment(go_float(value))
    if isinstance(value, dict):
        return {k: _go_floats(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_go_floats(v) for v in value]
    return value


class _Bad(Exception):
    pass


def syntax_error(data: bytes) -> str:
    """Text of the first error in ``data``; for a text without one, which only differs in depth, the
    depth error."""
    scanner = _Scanner(data)
    try:
        scanner.document()
    except _Bad as e:
        return str(e)
    return MAX_DEPTH_EXCEEDED


def quote_char(c: int) -> str:
    """A byte as the scanner quotes it: a character of Latin-1 between single quotes, with Go's
    escapes."""
    if c == 0x27:
        return "'\\''"
    if c == 0x22:
        return "'\"'"
    char = chr(c)
    if char in ESCAPES:
        return f"'{ESCAPES[char]}'"
    if char.isprintable():
        return f"'{char}'"
    return f"'\\x{c:02x}'" if c < 0x80 else f"'\\u{c:04x}'"


class _Scanner:
    """Open containers are kept in ``stack`` rather than in Python's call stack, so that depth costs
    nothing."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[int] = []

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise _Bad(END)
        return self.data[self.at]

    def inside(self) -> int:
        """The next byte of what has begun: Go's scanner ends a text with a blank, to see whether it
        may end there."""
        return self.data[self.at] if self.at < len(self.data) else _BLANK

    def take(self) -> int:
        c = self.byte()
        self.at += 1
        return c

    def bad(self, context: str) -> _Bad:
        return _Bad(f"invalid character {quote_char(self.inside())} {context}")

    def space(self) -> None:
        while self.at < len(self.data) and self.data[self.at] in _SPACE:
            self.at += 1

    def document(self) -> None:
        self.begin_value()
        while self.stack:
            self.end_value()
        self.space()
        if self.at < len(self.data):
            raise self.bad("after top-level value")

    def begin_value(self) -> None:
        """Reads one value, or the opening of a container up to where its first value begins."""
        self.space()
        c = self.byte()
        if c in b"{[":
            self.open(c)
        elif c == 0x22:
            self.at += 1
            self.string()
        elif c == 0x2D or c in _DIGITS:
            self.number()
        elif c in b"tfn":
            self.literal({0x74: b"true", 0x66: b"false", 0x6E: b"null"}[c])
        else:
            raise self.bad("looking for beginning of value")

    def open(self, c: int) -> None:
        self.at += 1
        self.stack.append(c)
        if len(self.stack) > _MAX_DEPTH:
            raise _Bad(MAX_DEPTH_EXCEEDED)
        self.space()
        if c == 0x7B:
            if self.byte() == 0x7D:
                self.close()
            else:
                self.member()
        elif self.byte() == 0x5D:
            self.close()
        else:
            self.begin_value()

    def close(self) -> None:
        self.at += 1
        self.stack.pop()

    def end_value(self) -> None:
        """After a value inside the innermost container."""
        self.space()
        c = self.byte()
        if self.stack[-1] == 0x7B:
            if c == 0x7D:
                self.close()
            elif c == 0x2C:
                self.at += 1
                self.space()
                self.member()
            else:
                raise self.bad("after object key:value pair")
        elif c == 0x5D:
            self.close()
        elif c == 0x2C:
            self.at += 1
            self.begin_value()
        else:
            raise self.bad("after array element")

    def member(self) -> None:
        if self.byte() != 0x22:
            raise self.bad("looking for beginning of object key string")
        self.at += 1
        self.string()
        self.space()
        if self.byte() != 0x3A:
            raise self.bad("after object key")
        self.at += 1
        self.begin_value()

    def string(self) -> None:
        while True:
            c = self.byte()
            if c < 0x20:
                raise self.bad("in string literal")
            self.at += 1
            if c == 0x22:
                return
            if c == 0x5C:
                self.escape()

    def escape(self) -> None:
        c = self.inside()
        if c not in b'bfnrt\\/"u':
            raise self.bad("in string escape code")
        self.at += 1
        if c == 0x75:
            for _ in range(4):
                if self.inside() not in _HEX:
                    raise self.bad("in \\u hexadecimal character escape")
                self.at += 1

    def literal(self, word: bytes) -> None:
        for i, expected in enumerate(word):
            if self.inside() != expected:
                raise self.bad(f"in literal {word.decode()} (expecting {quote_char(word[i])})")
            self.at += 1

    def number(self) -> None:
        if self.inside() == 0x2D:
            self.at += 1
            if self.inside() not in _DIGITS:
                raise self.bad("in numeric literal")
        if self.take() != 0x30:
            self.digits()
        if self.peek(lambda c: c == 0x2E):
            self.at += 1
            if self.inside() not in _DIGITS:
                raise self.bad("after decimal point in numeric literal")
            self.digits()
        if self.peek(lambda c: c in b"eE"):
            self.at += 1
            if self.inside() in b"+-":
                self.at += 1
            if self.inside() not in _DIGITS:
                raise self.bad("in exponent of numeric literal")
            self.digits()

    def digits(self) -> None:
        while self.peek(lambda c: c in _DIGITS):
            self.at += 1

    def peek(self, test: Callable[[int], bool]) -> bool:
        return self.at < len(self.data) and test(self.data[self.at])
