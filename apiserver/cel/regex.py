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
    """The pattern is no regular expression."""


@lru_cache(maxsize=1024)
def parse_regex(pattern: str) -> Any:
    """A compiled pattern with ``search``, ``match`` and ``finditer``. Raises RegexError."""
    try:
        return re2.compile(pattern, options=_OPTIONS)
    except (re2.error, UnicodeEncodeError) as e:
        raise RegexError(str(e)) from None


def compile_regex(pattern: str) -> Any:
    """As parse_regex, for use while evaluating. Raises EvalError in Go's words."""
    try:
        return parse_regex(pattern)
    except RegexError as e:
        raise EvalError(f"error parsing regexp: {e}") from None
