"""Values of literals (cel-go ``parser/unescape.go`` and ``visitInt`` and its like)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from apiserver.cel.scalars import Uint
from apiserver.golang.math import is_int64
from apiserver.golang.strconv import UNESCAPED

_LONG: Final = 40
"""Characters of a number that is out of range without being read."""


def int_value(text: str) -> int:
    """``-12`` or ``0xff``. Raises ValueError with cel-go's text."""
    digits = text.removeprefix("-")
    value = int(text, 16 if digits.startswith("0x") else 10) if len(digits) < _LONG else 1 << 64
    if not is_int64(value):
        raise ValueError("invalid int literal")
    return value


def uint_value(text: str) -> Uint:
    """``12u``. Raises ValueError with cel-go's text."""
    text = text[:-1]
    if text.startswith("0x"):
        value = int(text, 16)
    else:
        value = int(text) if len(text) < _LONG else 1 << 64
    if value >= 1 << 64:
        raise ValueError("invalid uint literal")
    return Uint(value)


def double_value(text: str) -> float:
    """``-1.5e3``. Raises ValueError with cel-go's text."""
    value = float(text)
    if abs(value) == float("inf"):
        raise ValueError("invalid double literal")
    return value


_SIMPLE_ESCAPES: Final = {**UNESCAPED, "'": "'", '"': '"', "`": "`", "?": "?"}


def unquote(literal: str) -> str:
    """The value of a string literal. Raises ValueError with cel-go's text."""
    body, raw = _body(literal)
    if raw or "\\" not in body:
        return body
    out: list[str] = []
    at = 0
    while at < len(body):
        c = body[at]
        if c != "\\":
            out.append(c)
            at += 1
            continue
        code, at = _escape(body, at)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise ValueError("invalid unicode code point")
        out.append(chr(code))
    return "".join(out)


def unquote_bytes(literal: str) -> bytes:
    """The value of a bytes literal (its ``b`` included): text in UTF-8, octal and hexadecimal
    escapes as single bytes."""
    body, raw = _body(literal[1:])
    if raw or "\\" not in body:
        return body.encode()
    out = bytearray()
    at = 0
    while at < len(body):
        c = body[at]
        if c != "\\":
            out += c.encode()
            at += 1
            continue
        if body[at + 1] in "uU":
            raise ValueError("unable to unescape string")
        code, at = _escape(body, at)
        out.append(code & 0xFF)
    return bytes(out)


def _body(literal: str) -> tuple[str, bool]:
    raw = literal[0] in "rR"
    if raw:
        literal = literal[1:]
    if literal[:3] in ("'''", '"""') and len(literal) >= 6:
        return literal[3:-3], raw
    return literal[1:-1], raw


def _escape(body: str, at: int) -> tuple[int, int]:
    """Code and end of the escape sequence at ``at`` (the lexer has checked its form)."""
    c = body[at + 1]
    simple = _SIMPLE_ESCAPES.get(c)
    if simple is not None:
        return ord(simple), at + 2
    if c in "0123":
        return int(body[at + 1 : at + 4], 8), at + 4
    digits = {"x": 2, "X": 2, "u": 4, "U": 8}[c]
    return int(body[at + 2 : at + 2 + digits], 16), at + 2 + digits


VALUES: Final[dict[str, Callable[[str], Any]]] = {
    "NUM_INT": int_value,
    "NUM_UINT": uint_value,
    "NUM_FLOAT": double_value,
    "STRING": unquote,
    "BYTES": unquote_bytes,
    "true": lambda _text: True,
    "false": lambda _text: False,
    "null": lambda _text: None,
}
"""By the kind of the token: what its text stands for."""
