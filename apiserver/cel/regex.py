"""Regular expressions in linear time: RE2's syntax, which is Go's, compiled once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from apiserver.cel.errors import EvalError


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options


_OPTIONS = _options()


class RegexError(Exception):
    """The pattern is no regular expression; the text is Go's."""


_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


def _go_error(error: Exception) -> RegexError:
    raw = error.args[0] if error.args else ""
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
    what, colon, where = text.partition(": ")
    what = _GO_WORDS.get(what, what)
    return RegexError(f"error parsing regexp: {what}: `{where}`" if colon else f"error parsing regexp: {what}: ``")


@lru_cache(maxsize=1024)
def parse_regex(pattern: str) -> Any:
    """A compiled pattern with ``search``, ``match`` and ``finditer``. Raises RegexError."""
    try:
        return re2.compile(pattern, options=_OPTIONS)
    except (re2.error, UnicodeEncodeError) as e:
        raise _go_error(e) from None


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
