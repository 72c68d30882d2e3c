"""Regular expressions in linear time: RE2's syntax, which is Go's, compiled once; errors in the words of Go's regexp/syntax."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2


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


@lru_cache(maxsize=4096)
def parse_regex(pattern: str) -> Any:
    """A compiled pattern with ``search``, ``match`` and ``finditer``. Raises RegexError."""
    try:
        return re2.compile(pattern, options=_OPTIONS)
    except (re2.error, UnicodeEncodeError) as e:
        raise _go_error(e) from None
