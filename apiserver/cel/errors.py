"""Errors of CEL: what a source text gets wrong (CompileError, positions) and what an evaluation
runs into (EvalError).

Texts and layout are cel-go's (``common/error.go``): one ``ERROR: <input>:line:column: message``
each, followed by the line and a caret.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

MAX_ERRORS = 100
MAX_SNIPPET = 16384
MAX_TEXT = 128 * 1024
"""Code points of all errors of a source. Upstream shows the whole line with each of them, however
long it is."""
NO_POSITION = -1
OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
"""What the rules of an object are told, and policies."""


class CelError(Exception):
    """An evaluation has no value. ``message`` as cel-go says it, without the place; ``spent``: cost
    units until then."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.spent = 0


class EvalError(CelError):
    """An error that && and || absorb."""


class BudgetExceeded(CelError):
    """More cost than the caller allowed; nothing absorbs it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class InstantiationError(Exception):
    """A checked expression that cannot be made into a program: a constant part of it has no
    value."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def no_such_overload() -> EvalError:
    return EvalError("no such overload")


def no_such_key(key: object) -> EvalError:
    return EvalError(f"no such key: {str(key).lower() if isinstance(key, bool) else key}")


@dataclass(slots=True)
class CompileError:
    """position: offset in code points (NO_POSITION where there is none); message: without place and
    snippet."""

    position: int
    message: str


class Source:
    """A source text and its lines, for turning offsets into places."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0] + [i + 1 for i, c in enumerate(text) if c == "\n"]

    def place(self, position: int) -> tuple[int, int]:
        """1-based line and 0-based column; -1 in an empty text, which has none."""
        if position < 0:
            return -1, -1
        if not self.text:
            return 1, -1
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1]

    def line(self, number: int) -> str | None:
        if not self.text or not 1 <= number <= len(self._starts):
            return None
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]


def display(source: Source, errors: Sequence[CompileError]) -> str:
    """All errors in order of place, at most MAX_ERRORS of them."""
    first_errors = sorted(errors[:MAX_ERRORS], key=lambda e: source.place(e.position))
    lines: list[str] = []
    left = MAX_TEXT
    for e in first_errors:
        lines.append(_display_one(source, e))
        left -= len(lines[-1])
        if left < 0:
            break
    if len(errors) > len(lines):
        lines.append(f"{len(errors) - len(lines)} more errors were truncated")
    return "\n".join(lines)


def _display_one(source: Source, error: CompileError) -> str:
    line, column = source.place(error.position)
    text = f"ERROR: <input>:{line}:{column + 1}: {error.message}"
    snippet = source.line(line)
    if snippet is None or len(snippet.encode()) > MAX_SNIPPET:
        return text
    snippet = snippet.replace("\t", " ")
    dots = "".join("." if ord(c) < 0x80 else "\uff0e" for c in snippet[:column])
    caret = "\uff3e" if column < len(snippet) and ord(snippet[column]) >= 0x80 else "^"
    return f"{text}\n | {snippet}\n | {dots}{caret}"
