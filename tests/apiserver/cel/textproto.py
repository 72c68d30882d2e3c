"""A reader of protobuf's text format without descriptors: a message is a list of (field name,
value) pairs."""

from __future__ import annotations

import re
from typing import Any

_TOKEN = re.compile(
    r"\s+|#[^\n]*|(?P<string>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|(?P<word>-?[A-Za-z_0-9.+][A-Za-z_0-9.+\-/]*)|(?P<any>\[[^\]\"':]+\])|(?P<mark>[{}<>:,;\[\]])"
)
_ESCAPE = re.compile(
    rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL
)
_SIMPLE = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}

Message = list[tuple[str, Any]]


class Text(bytes):
    """A quoted value, as bytes."""


def _unescape(m: re.Match[bytes]) -> bytes:
    code = m.group(1)
    if code[:1] == b"x":
        return bytes([int(code[1:], 16)])
    if code[:1] in (b"u", b"U") and len(code) > 1:
        return chr(int(code[1:], 16)).encode("utf-8", "surrogatepass")
    if code.isdigit():
        return bytes([int(code, 8) & 0xFF])
    return _SIMPLE.get(code, code)


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            m = _TOKEN.match(text, at)
            assert m is not None, text[at : at + 50]
            if m.lastgroup:
                self.tokens.append((m.lastgroup, m.group()))
            at = m.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def message(self, close: str) -> Message:
        found: Message = []
        while self.peek() != close:
            name = self.tokens[self.at][1]
            self.at += 1
            if self.peek() == ":":
                self.at += 1
            kind = self.tokens[self.at][0]
            if self.peek() == "[" or kind == "any":
                found += [(name, v) for v in self.values()]
            else:
                found.append((name, self.value()))
            if self.peek() in (",", ";"):
                self.at += 1
        if close:
            self.at += 1
        return found

    def values(self) -> list[Any]:
        kind, text = self.tokens[self.at]
        if kind == "any":  # a list of words was read as one token
            self.at += 1
            return [w.strip() for w in text[1:-1].split(",") if w.strip()]
        self.at += 1
        found = []
        while self.peek() != "]":
            found.append(self.value())
            if self.peek() == ",":
                self.at += 1
        self.at += 1
        return found

    def value(self) -> Any:
        kind, text = self.tokens[self.at]
        self.at += 1
        if text in "{<":
            return self.message("}" if text == "{" else ">")
        if kind == "string":
            raw = text[1:-1].encode()
            while self.at < len(self.tokens) and self.tokens[self.at][0] == "string":
                raw += self.tokens[self.at][1][1:-1].encode()
                self.at += 1
            return Text(_ESCAPE.sub(_unescape, raw))
        return text


def parse(text: str) -> Message:
    return _Reader(text).message("")


def get(message: Message, name: str, default: Any = None) -> Any:
    for key, value in message:
        if key == name:
            return value
    return default


def get_all(message: Message, name: str) -> list[Any]:
    return [value for key, value in message if key == name]
