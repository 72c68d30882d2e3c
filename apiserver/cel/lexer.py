"""Tokens of CEL (cel-go ``parser/gen/CEL.g4``). Longest match wins; what matches nothing is reported as ANTLR's lexer reports it."""

from __future__ import annotations

import re
from typing import NamedTuple

from apiserver.cel.errors import CompileError

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_STRING = "|".join(
    [
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        r"[rR]'''(?s:.)*?'''",
        r'[rR]"""(?s:.)*?"""',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        r"[rR]'[^'\n\r]*'",
        r'[rR]"[^"\n\r]*"',
    ]
)
_TOKEN = re.compile(
    r"(?P<skip>(?:[\t \r\n\f]+|//[^\n]*)+)"
    rf"|(?P<BYTES>[bB](?:{_STRING}))"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<op>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})
_PARTIAL_ESCAPE = re.compile(r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?")
_STRING_BODY = {
    "'": re.compile(rf"'(?:{_ESCAPE}|[^\\'\n\r])*"),
    '"': re.compile(rf'"(?:{_ESCAPE}|[^\\"\n\r])*'),
}
_ESCAPED_NAME = re.compile(r"`[A-Za-z0-9_.\-/ ]*")

EOF = "<EOF>"


class Token(NamedTuple):
    """kind: the operator or keyword itself, or IDENTIFIER, ESC_IDENTIFIER, NUM_INT, NUM_UINT, NUM_FLOAT, STRING, BYTES, <EOF>."""

    kind: str
    text: str
    pos: int


def tokenize(text: str) -> tuple[list[Token], list[CompileError]]:
    """All tokens, EOF last, and what could not be read."""
    tokens: list[Token] = []
    errors: list[CompileError] = []
    at, end, match = 0, len(text), _TOKEN.match
    while at < end:
        m = match(text, at)
        if m is None:
            stop = _failure(text, at)
            errors.append(CompileError(at, f"Syntax error: token recognition error at: '{text[at : stop + 1]}'"))
            at = stop + 1
            continue
        kind = m.lastgroup or ""
        if kind != "skip":
            value = m.group()
            if kind == "op" or value in _KEYWORDS:
                kind = value
            tokens.append(Token(kind, value, at))
        at = m.end()
    tokens.append(Token(EOF, EOF, end))
    return tokens, errors


def _failure(text: str, at: int) -> int:
    """Where ANTLR's lexer gives up on the token that begins at ``at``."""
    c = text[at]
    if c in "&|=":
        return at + 1
    if c in _STRING_BODY:
        m = _STRING_BODY[c].match(text, at)
    elif c == "`":
        m = _ESCAPED_NAME.match(text, at)
    else:
        return at
    stop = m.end() if m else at
    if stop < len(text) and text[stop] == "\\":
        partial = _PARTIAL_ESCAPE.match(text, stop)
        stop = partial.end() if partial else stop
    return stop


_SIMPLE_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip


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
    """The value of a bytes literal (its ``b`` included): text in UTF-8, octal and hexadecimal escapes as single bytes."""
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
