"""Package github.com/google/uuid: what its Validate says of a text."""

from __future__ import annotations

import re

from apiserver.golang.strconv import go_quote

_STANDARD = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_DIGITS = re.compile(r"[0-9a-f]{32}", re.ASCII | re.IGNORECASE)
_URN = "urn:uuid:"
_WRONG = "invalid UUID format"


def uuid_problem(text: str) -> str:
    """ "" for a UUID in one of its four forms: standard, after ``urn:uuid:``, in braces, digits
    alone."""
    length, standard = len(text.encode()), text
    if length == 32:
        return "" if _DIGITS.fullmatch(text) else _WRONG
    if length == 36 + len(_URN):
        if text[: len(_URN)].lower() != _URN:
            return f"invalid urn prefix: {go_quote(text[: len(_URN)])}"
        standard = text[len(_URN) :]
    elif length == 38:
        if text[0] != "{" or text[-1] != "}":
            return "invalid bracketed UUID format"
        standard = text[1:-1]
    elif length != 36:
        return f"invalid UUID length: {length}"
    return "" if _STANDARD.fullmatch(standard) else _WRONG
