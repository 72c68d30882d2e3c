"""Kubernetes' JSONPath, as printer columns and selectable fields use it (k8s.io/client-go
``util/jsonpath``, whose quirks it has).

Steps: ``.name`` with backslash escapes, ``['name']`` (which is read as ``.name``, so that a dot in
it must be escaped too), ``[0]``, ``[-1]``, ``[1:3]``, ``[*]``, unions ``[0,2]``, ``..name`` and
filters with at most one comparison, ``[?(@.type=="Ready")]``. A step that leads nowhere gives
nothing; one that does not fit the value (an index into a string, an index out of bounds) is an
error.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

import orjson

from apiserver.golang.fmt import go_number
from apiserver.golang.json import escape_html
from apiserver.golang.strconv import UNESCAPED, whole
from apiserver.kinds.apiextensions.jsonpath_steps import (
    PathError,
    Step,
    Walk,
    everything,
    field,
    filtered,
    literal,
    recursive,
    run,
    sliced,
    union,
)

__all__ = ["Path", "PathError", "Walk", "parse_path", "print_value"]


class Path(Protocol):
    def __call__(self, obj: Any, walk: Walk | None = None) -> list[Any]:
        """All values that it leads to. walk: one that other paths share. Raises PathError for an
        object that it does not fit, and where it looks at too many values."""


_TERMINATORS = frozenset(" \t\r\n.,[]$@{}")
_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d.]*")
_ESCAPED = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {**UNESCAPED, "'": "'", '"': '"'}


def parse_path(text: str) -> Path:
    """Raises PathError for what cannot be read."""
    steps = _steps(text)

    def find(obj: Any, walk: Walk | None = None) -> list[Any]:
        return run(steps, [obj], walk or Walk())

    return find


def _steps(text: str) -> list[Step]:
    steps: list[Step] = []
    at = 0
    while at < len(text):
        char = text[at]
        if text.startswith("[?(", at):
            step, at = _filter(text, at)
        elif text.startswith("..", at):
            if steps and steps[-1] is recursive:
                raise PathError("invalid multiple recursive descent")
            steps.append(recursive)
            at += 2
            if not (at < len(text) and (text[at] == "_" or text[at].isalnum())):
                continue
            step, at = _field(text, at)
        elif char in " @$":
            at += 1
            continue
        elif char == "[":
            step, at = _array(text, at)
        elif char in "\"'":
            step, at = _quoted(text, at)
        elif char == ".":
            step, at = _field(text, at + 1)
        elif char in "+-" or char.isdigit():
            step, at = _number(text, at)
        else:
            step, at = _identifier(text, at)
        steps.append(step)
    return steps


def _field(text: str, at: int) -> tuple[Step, int]:
    start = at
    while at < len(text) and text[at] not in _TERMINATORS:
        at += 2 if text[at] == "\\" else 1
    name = text[start:at]
    return (everything if name == "*" else field(name.replace("\\", ""))), min(at, len(text))


def _array(text: str, at: int) -> tuple[Step, int]:
    end = text.find("]", at)
    if end < 0 or "\n" in text[at:end]:
        raise PathError("unterminated array")
    inside = text[at + 1 : end]
    parts = (":" if inside == "*" else inside).split(",")
    if len(parts) > 1:
        return union([_steps(f"[{part.strip(' ')}]") for part in parts]), end + 1
    if m := _KEY.fullmatch(parts[0]):
        return union([_steps(f".{m[1]}")]), end + 1
    m = _SLICE.fullmatch(parts[0])
    if m is None or m[1] == "-":
        raise PathError(f"invalid array index {parts[0]}")
    return sliced(*_bounds(m[1], m[2], m[3])), end + 1


def _bounds(
    first: str, last: str | None, step: str | None
) -> tuple[int | None, int | None, int | None, bool]:
    """(first, last, step, whether ``last`` only follows from ``first``); None: not said."""
    start = whole(first) if first else None
    by = whole(step[1:]) if step is not None and step[1:] else None
    if last is None:
        return start, (start or 0) + 1, by, True
    return start, whole(last[1:]) if last[1:] else None, by, False


def _filter(text: str, at: int) -> tuple[Step, int]:
    start = at = at + len("[?(")
    quote, closed = "", False
    while at < len(text):
        char = text[at]
        if char in "\"'":
            if not quote:
                quote = char
            elif char == quote and text[at - 1] != "\\":
                closed = True
        elif char == ")" and bool(quote) == closed:
            break
        at += 1
    if at >= len(text) or "\n" in text[start:at]:
        raise PathError("unterminated filter")
    if text[at + 1 : at + 2] != "]":
        raise PathError("unclosed array expect ]")
    inside = text[start:at]
    m = _COMPARISON.fullmatch(inside)
    if m is None:
        return filtered(_steps(inside), "exists", []), at + 2
    return filtered(_steps(m[1]), m[2], _steps(m[3])), at + 2


def _quoted(text: str, at: int) -> tuple[Step, int]:
    end = at + 1
    while end < len(text) and not (text[end] == text[at] and text[end - 1] != "\\"):
        end += 1
    if end >= len(text):
        raise PathError("unterminated quoted string")
    return literal(_ESCAPED.sub(_unescaped, text[at + 1 : end]), lone=True), end + 1


def _unescaped(m: re.Match[str]) -> str:
    code = m[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    if code not in _ESCAPES:
        raise PathError(f"unquote string {m.string} error invalid syntax")
    return _ESCAPES[code]


def _number(text: str, at: int) -> tuple[Step, int]:
    m = _NUMBER.match(text, at)
    assert m is not None, "the caller has seen a sign or a digit"
    try:
        return literal(float(m[0]) if "." in m[0] else whole(m[0])), m.end()
    except ValueError:
        raise PathError(f"cannot parse number {m[0]}") from None


def _identifier(text: str, at: int) -> tuple[Step, int]:
    """Only true and false: ranges are for templates."""
    end = at
    while end < len(text) and text[end] not in _TERMINATORS:
        end += 1
    word = text[at:end]
    if word not in ("true", "false"):
        raise PathError(f"unrecognized character in action: {text[at:]}")
    return literal(word == "true"), end


def print_value(value: Any) -> str:
    """A value as text: lists and objects as Go's JSON, everything else as Go's %v prints it."""
    if value is None:
        return "<no value>"
    if type(value) is bool:
        return "true" if value else "false"
    if isinstance(value, int | float):
        return go_number(value)
    if type(value) is str:
        return value
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return escape_html(text).decode()
