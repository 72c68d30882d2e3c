"""Tokens of CEL (cel-go ``parser/gen/CEL.g4``). Longest match wins; what matches nothing is
reported as ANTLR's lexer reports it."""

from __future__ import annotations

import re
from typing import NamedTuple

from apiserver.cel.errors import CompileError
from apiserver.effort import spend

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
    r"|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<op>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})
_PARTIAL_ESCAPE = re.compile(
    r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?"
)
_STRING_BODY = {
    "'": re.compile(rf"'(?:{_ESCAPE}|[^\\'\n\r])*"),
    '"': re.compile(rf'"(?:{_ESCAPE}|[^\\"\n\r])*'),
}
_ESCAPED_NAME = re.compile(r"`[A-Za-z0-9_.\-/ ]*")

EOF = "<EOF>"


class Token(NamedTuple):
    """kind: the operator or keyword itself, or IDENTIFIER, ESC_IDENTIFIER, NUM_INT, NUM_UINT,
    NUM_FLOAT, STRING, BYTES, <EOF>."""

    kind: str
    text: str
    pos: int


def tokenize(text: str) -> tuple[list[Token], list[CompileError]]:
    """All tokens, EOF last, and what could not be read."""
    tokens: list[Token] = []
    errors: list[CompileError] = []
    at, end, match = 0, len(text), _TOKEN.match
    while at < end:
        spend(15)
        m = match(text, at)
        if m is None:
            stop = _failure(text, at)
            errors.append(
                CompileError(
                    at, f"Syntax error: token recognition error at: '{text[at : stop + 1]}'"
                )
            )
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
