"""The tokens of label selectors (k8s.io/apimachinery, the lexer of package ``labels``)."""

from __future__ import annotations

from typing import NamedTuple

END = ""
_SPECIAL = "=!(),><"
_SYMBOLS = {")", ",", "!", "==", "=", ">", "<", "!=", "("}
WORDS = {"in", "notin"}


class Token(NamedTuple):
    """kind: the symbol itself, "in" or "notin", "id" for an identifier, "error", or "" at the
    end."""

    kind: str
    text: str


def _symbol(run: str) -> tuple[Token, int]:
    """The token at the start of a run of special characters, and its length."""
    best = ""
    for end in range(1, len(run) + 1):
        if run[:end] in _SYMBOLS:
            best = run[:end]
        elif best:
            break
    if not best:
        return Token("error", f"error expected: keyword found '{run}'"), len(run)
    return Token(best, best), len(best)


def tokens(text: str) -> list[Token]:
    text = text.partition("\0")[0]
    out, pos = [], 0
    while pos < len(text):
        c = text[pos]
        if c in " \t\r\n":
            pos += 1
            continue
        end = pos
        while (
            end < len(text)
            and text[end] not in " \t\r\n"
            and (text[end] in _SPECIAL) == (c in _SPECIAL)
        ):
            end += 1
        run = text[pos:end]
        if c in _SPECIAL:
            token, length = _symbol(run)
            pos += length
        else:
            token, pos = Token(run if run in WORDS else "id", run), end
        out.append(token)
    return [*out, Token(END, "")]
