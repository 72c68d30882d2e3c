"""Regular expressions while evaluating: apiserver.golang.regexp, with errors that rules
understand."""

from __future__ import annotations

from itertools import islice

from apiserver.cel.errors import BudgetExceeded, EvalError
from apiserver.effort import hold
from apiserver.golang.regexp import RegexError, TooExpensive, matches, parse_regex

_MATCH = 72
"""Bytes of a short text in a list."""


def found_in(pattern: str, text: str) -> bool:
    """Whether the pattern matches anywhere. Raises EvalError for a bad pattern, in Go's words."""
    try:
        return matches(pattern, text)
    except RegexError as e:
        raise EvalError(str(e)) from None
    except TooExpensive:
        raise BudgetExceeded from None


def find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    """The first ``count`` matches, all when it is negative. Raises EvalError for a bad pattern."""
    texts: list[str] = []
    try:
        for match in islice(parse_regex(pattern).matches(text), count if count >= 0 else None):
            hold(_MATCH + 4 * len(match))
            texts.append(match)
    except RegexError as e:
        raise EvalError(f"Illegal regex: {e}") from None
    except TooExpensive:
        raise BudgetExceeded from None
    return texts
