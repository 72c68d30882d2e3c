"""The part of kubectl's JSONPath that printer columns and selectable fields use (k8s.io/client-go ``util/jsonpath``).

Steps: ``.name`` with backslash escapes, ``['name']``, ``[0]``, ``[-1]``, ``[1:3]``, ``[*]``, ``..name`` and filters with one comparison,
``[?(@.type=="Ready")]``. A step that leads nowhere gives nothing; one that does not fit the value (an index into a string) is an error.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from typing import Any

from apiserver.fielderrors import go_number

Step = Callable[[list[Any]], list[Any]]
Path = Callable[[Any], list[Any]]


class PathError(ValueError):
    """The text is no JSONPath, or a value cannot be walked by it."""


def parse_path(text: str) -> Path:
    """A function from an object to all values that the path leads to. Raises PathError for what cannot be read."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        step, at = _step(text, at)
        steps.append(step)

    def find(obj: Any) -> list[Any]:
        values = [obj]
        for step in steps:
            values = step(values)
        return values

    return find


_NAME = re.compile(r"(?:\\.|[^.\[\]\\{}\s])+")


def _step(text: str, at: int) -> tuple[Step, int]:
    if text.startswith("..", at):
        return _recursive, at + 1 if text[at + 2 : at + 3] not in ("", "[") else at + 2
    if text[at] == "[":
        end = _closing(text, at)
        return _bracket(text[at + 1 : end]), end + 1
    if text[at] == ".":
        at += 1
        if at == len(text) or text[at] == "[":
            return lambda values: values, at
    m = _NAME.match(text, at)
    if m is None:
        raise PathError(f"unrecognized character in action: {text[at:]}")
    name = re.sub(r"\\(.)", r"\1", m.group())
    return (_all if name == "*" else _member(name)), m.end()


def _closing(text: str, at: int) -> int:
    quote = ""
    depth = 0
    for i in range(at, len(text)):
        char = text[i]
        if quote:
            quote = "" if char == quote and text[i - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
            if depth == 0:
                return i
    raise PathError("unterminated array")


def _bracket(inside: str) -> Step:
    inside = inside.strip()
    if inside == "*":
        return _all
    if inside.startswith("?"):
        m = re.fullmatch(r"\?\(\s*(.*?)\s*\)", inside, re.DOTALL)
        if m is None:
            raise PathError(f"unterminated filter: {inside}")
        return _filter(m[1])
    if m := re.fullmatch(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", inside):
        return _member(re.sub(r"\\(.)", r"\1", m[1] if m[1] is not None else m[2]))
    if re.fullmatch(r"-?\d+", inside):
        return _index(int(inside))
    if re.fullmatch(r"(-?\d*):(-?\d*)(:(-?\d*))?", inside):
        bounds = [int(b) if b else None for b in inside.split(":")]
        return _each_list(lambda value: value[slice(*bounds)])
    raise PathError(f"invalid array index {inside}")


def _member(name: str) -> Step:
    def step(values: list[Any]) -> list[Any]:
        found = []
        for value in values:
            if type(value) is dict and name in value:
                found.append(value[name])
        return found

    return step


def _all(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += value if type(value) is list else value.values() if type(value) is dict else ()
    return found


def _recursive(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found.append(value)
        if type(value) in (dict, list):
            found += _recursive(_all([value]))
    return found


def _index(i: int) -> Step:
    def pick(value: list[Any]) -> list[Any]:
        if not -len(value) <= i < len(value):
            raise PathError(f"array index out of bounds: index {i}, length {len(value)}")
        return [value[i]]

    return _each_list(pick)


def _each_list(pick: Callable[[list[Any]], list[Any]]) -> Step:
    def step(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if value is None:
                continue
            if type(value) is not list:
                raise PathError(f"{value!r} is not array or slice")
            found += pick(value)
        return found

    return step


_COMPARE = {"==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


def _filter(text: str) -> Step:
    m = re.fullmatch(r"(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+)", text, re.DOTALL)
    left, compare, right = (m[1], _COMPARE[m[2]], m[3]) if m else (text, None, "")
    get, wanted = _operand(left), _operand(right) if m else None

    def keep(item: Any) -> bool:
        found = get(item)
        if compare is None or wanted is None:
            return bool(found)
        other = wanted(item)
        return bool(found) and bool(other) and type(found[0]) is type(other[0]) and bool(compare(found[0], other[0]))

    return _each_list(lambda value: [item for item in value if keep(item)])


def _operand(text: str) -> Path:
    text = text.strip()
    if text.startswith("@"):
        return parse_path(text[1:])
    if m := re.fullmatch(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", text):
        literal: Any = re.sub(r"\\(.)", r"\1", m[1] if m[1] is not None else m[2])
    elif text in ("true", "false"):
        literal = text == "true"
    else:
        try:
            literal = int(text) if re.fullmatch(r"-?\d+", text) else float(text)
        except ValueError:
            raise PathError(f"unrecognized identifier {text}") from None
    return lambda obj: [literal]


def print_value(value: Any) -> str:
    """A value as text: lists and objects as JSON, everything else as Go's %v prints it."""
    if value is None:
        return "<no value>"
    if type(value) is bool:
        return "true" if value else "false"
    if isinstance(value, int | float):
        return go_number(value)
    return value if type(value) is str else json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
