"""JSON as kube-apiserver reads and writes it (encoding/json and sigs.k8s.io/json).

Reading: CPython's C scanner does the work and reports repeated member names through its pairs hook;
only a body that has some is walked again for their paths. Text that is no JSON is scanned once more
by `apiserver.golang.json` for the words that Go's decoder uses. Writing: orjson, with the few
spellings in which Go's encoder differs (HTML characters, floats) corrected afterwards.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import orjson

from apiserver.golang.json import MAX_DEPTH_EXCEEDED, marshal, syntax_error
from apiserver.golang.math import MAX_INT64, MIN_INT64

MAX_STRICT_ERRORS = 100
_INT64 = range(MIN_INT64, MAX_INT64 + 1)
_LONG_NUMBER = re.compile(rb"[0-9]{19}|[eE]\+?[0-9]{3}")
_MEMBER = re.compile(rb'"[ \t\r\n]*:')
_FLAT = 64  # levels
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIRST = ("kind", "apiVersion", "metadata")


class JSONError(ValueError):
    """The bytes are not JSON; the text is Go's."""


class Given(dict[str, Any]):
    """An object that repeats a member name: ``items()`` are all that were written, in their order,
    anything else knows the last of each name."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> Any:
        return self._pairs


class _Hook:
    """Builds dictionaries; objects with repeated names keep all of them for a second pass."""

    __slots__ = ("repeated",)

    def __init__(self) -> None:
        self.repeated = False

    def __call__(self, pairs: list[tuple[str, Any]]) -> Any:
        obj = dict(pairs)
        if len(obj) != len(pairs):
            self.repeated = True
            return Given(pairs)
        return obj


def loads(data: bytes, *, merge: bool = False) -> tuple[Any, list[str]]:
    """(value, strict errors) of one JSON document.

    Errors name members that occur twice in one object: ``duplicate field "spec.foo"``, in order of
    appearance, each once, at most 100. ``merge``: what Go does when it decodes into a type: objects
    and lists given twice are merged member by member; otherwise, as with unstructured content, the
    last one wins. Integers beyond 64 bits become floats. Raises JSONError.
    """
    quick = _quickly(data)
    if quick is not None:
        return quick, []
    hook = _Hook()
    value = _parse(data, hook)
    if not hook.repeated:
        return value, []
    return _resolve(value, merge), Duplicates(value)


def _quickly(data: bytes) -> Any | None:
    """What orjson reads, several times faster, where that is surely the same: hardly nested, and no
    name twice in any object.

    In the text each member has a quote and a colon after its name, so when there are no more of
    those than members in the value, none was dropped. None: to be read in the careful way, which
    also knows the errors."""
    try:
        value = orjson.loads(data)
    except ValueError:
        return None
    members, level = 0, [value]
    for _ in range(_FLAT):
        below: list[Any] = []
        for item in level:
            if item.__class__ is dict:
                members += len(item)
                below += [v for v in item.values() if v.__class__ is not str]
            elif item.__class__ is list:
                below += item
            elif item.__class__ is int and item not in _INT64:
                return None
        if not below:
            return value if members == len(_MEMBER.findall(data)) else None
        level = below
    return None


def _parse(data: bytes, hook: _Hook) -> Any:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
    options: dict[str, Any] = (
        {"parse_int": _parse_int, "parse_float": _parse_float} if _LONG_NUMBER.search(data) else {}
    )
    try:
        value = json.loads(text, object_pairs_hook=hook, parse_constant=_refuse_constant, **options)
    except JSONError:
        raise
    except RecursionError:
        raise JSONError(MAX_DEPTH_EXCEEDED) from None
    except ValueError:
        raise JSONError(syntax_error(data)) from None
    if b"\\ud" in data or b"\\uD" in data:
        value = _replace_surrogates(value)
    return value


def _parse_int(digits: str) -> int | float:
    if len(digits) <= 20:
        number = int(digits)
        if number in _INT64:
            return number
    return _parse_float(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise JSONError(f"json: cannot unmarshal number {digits} into Go value of type float64")
    return number


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _replace_surrogates(value: Any) -> Any:
    """A lone surrogate becomes U+FFFD, as Go decodes it."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Given):
        return Given(
            [(_SURROGATE.sub("\ufffd", k), _replace_surrogates(v)) for k, v in value.items()]
        )
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", k): _replace_surrogates(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_replace_surrogates(v) for v in value]
    return value


class Duplicates(list[str]):
    """Errors for members given twice, which can be joined with errors for unknown members in the
    order in which Go meets both. given: the value in which they are (`Given`)."""

    def __init__(self, given: Any) -> None:
        self.given = given
        super().__init__(self.joined([]))

    def joined(self, unknown: Sequence[str]) -> list[str]:
        """``unknown``: texts like ``unknown field "spec.foo"``. What stands below an unknown member
        is not looked at."""
        errors: dict[str, None] = {}
        _walk(self.given, "", frozenset(unknown), errors)
        errors.update(dict.fromkeys(unknown))
        return list(errors)[:MAX_STRICT_ERRORS]


def _walk(value: Any, path: str, unknown: frozenset[str], errors: dict[str, None]) -> None:
    if isinstance(value, dict):
        seen = set()
        for name, member in value.items():
            where = f"{path}.{name}" if path else name
            if (text := f'unknown field "{where}"') in unknown:
                errors[text] = None
                continue
            if name in seen:
                errors[f'duplicate field "{where}"'] = None
            seen.add(name)
            _walk(member, where, unknown, errors)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _walk(item, f"{path}[{i}]", unknown, errors)


def _resolve(value: Any, merge: bool) -> Any:
    if isinstance(value, Given):
        resolved: dict[str, Any] = {}
        for name, member in value.items():
            member = _resolve(member, merge)
            resolved[name] = (
                _merged(resolved[name], member) if merge and name in resolved else member
            )
        return resolved
    if isinstance(value, dict):
        return {k: _resolve(v, merge) for k, v in value.items()}
    if isinstance(value, list):
        return [_resolve(v, merge) for v in value]
    return value


def _merged(old: Any, new: Any) -> Any:
    """``old`` may change: a member may be given a hundred thousand times."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name, member in new.items():
            old[name] = _merged(old[name], member) if name in old else member
        return old
    if isinstance(old, list) and isinstance(new, list):
        return [_merged(old[i], v) if i < len(old) else v for i, v in enumerate(new)]
    return new


def dumps(obj: Any) -> bytes:
    """Compact JSON with ``kind, apiVersion, metadata`` first, ended by a newline: what a plain
    answer and a watch frame carry."""
    return encode(obj) + b"\n"


def dumps_pretty(obj: Any) -> bytes:
    """Two spaces of indentation, no newline at the end: what ``?pretty=true`` and browsers get."""
    return marshal(_kind_first(obj), orjson.OPT_INDENT_2)


def encode(obj: Any) -> bytes:
    """Like `dumps` without the newline, for parts of larger answers."""
    return marshal(_kind_first(obj))


def _kind_first(obj: Any) -> Any:
    if not isinstance(obj, dict) or "kind" not in obj:
        return obj
    ordered = {k: obj[k] for k in _FIRST if k in obj}
    ordered.update(obj)
    return ordered
