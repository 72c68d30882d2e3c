"""Regular expressions while evaluating: apiserver.schema.goregex, with errors that rules understand."""

from __future__ import annotations

from typing import Any

import re2

from apiserver.cel.errors import EvalError
from apiserver.schema.goregex import RegexError, parse_regex

_UNANCHORED = re2._re2.RE2.Anchor.UNANCHORED


def found_in(pattern: str, text: str) -> bool:
    """Whether the pattern matches anywhere. Raises EvalError for a bad pattern.

    Asks the engine itself: the wrapper's translation of byte offsets, which is not needed here, takes ten times as long."""
    encoded = text.encode("utf-8", "surrogatepass")
    spans = compile_regex(pattern)._regexp.Match(_UNANCHORED, encoded, 0, len(encoded))
    return bool(spans[0][0] >= 0)


def compile_regex(pattern: str) -> Any:
    """As parse_regex, for use while evaluating. Raises EvalError in Go's words."""
    try:
        return parse_regex(pattern)
    except RegexError as e:
        raise EvalError(str(e)) from None
