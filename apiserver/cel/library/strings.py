"""String functions (cel-go ``ext/strings.go``): version 2, which Kubernetes has, and what later
versions add."""

from __future__ import annotations

from typing import Any

from apiserver.cel.decls import functions, merge, overload
from apiserver.cel.errors import EvalError
from apiserver.cel.library.formatting import format_local, format_plain
from apiserver.cel.values import flat, quoted
from apiserver.effort import hold, spend
from apiserver.golang.strconv import ESCAPES

_SPACE = (
    "\t\n\v\f\r "
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
_CHARACTER = 72
"""Bytes of a text of one character, with its place in a list."""
_PART = 64 * 1024


def _out_of_range(index: int) -> EvalError:
    return EvalError(f"index out of range: {index}")


def _char_at(s: str, i: int) -> str:
    if not 0 <= i <= len(s):
        raise _out_of_range(i)
    return s[i : i + 1]


def _index_of(s: str, sub: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not sub:
        return min(offset, len(s))
    return s.find(sub, offset) if offset < len(s) else -1


def _last_index_of(s: str, sub: str, offset: int | None = None) -> int:
    if offset is None:
        return s.rfind(sub)
    if offset < 0:
        raise _out_of_range(offset)
    if not sub:
        return min(offset, len(s))
    return s.rfind(sub, 0, offset + len(sub)) if offset < len(s) else -1


def _width(*texts: str) -> int:
    return 1 if all(map(str.isascii, texts)) else 4


def _lower(s: str) -> str:
    hold(len(s))
    return (
        s.lower()
        if s.isascii()
        else s.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    )


def _upper(s: str) -> str:
    hold(len(s))
    return (
        s.upper()
        if s.isascii()
        else s.encode("utf-8", "surrogatepass").upper().decode("utf-8", "surrogatepass")
    )


def _replace(s: str, old: str, new: str, count: int = -1) -> str:
    spend(len(s) // 50)
    times = s.count(old) if count < 0 else min(s.count(old), count)
    hold((len(s) + times * max(len(new) - len(old), 0)) * _width(s, new))
    return s.replace(old, new, count if count >= 0 else -1)


def _split(s: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    parts = s.count(separator) + 1
    if count > 0:
        parts = min(parts, count)
    spend(len(s) // 50 + parts // 4)
    hold(parts * (_CHARACTER if separator or not s.isascii() else 8) + len(s) * _width(s))
    if not separator:
        return [*s[: count - 1], s[count - 1 :]] if 0 < count < len(s) else list(s)
    return s.split(separator, count - 1 if count > 0 else -1)


def _substring(s: str, start: int, end: int | None = None) -> str:
    if end is None:
        if not 0 <= start <= len(s):
            raise _out_of_range(start)
        return s[start:]
    if start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(s):
            raise _out_of_range(index)
    return s[start:end]


def _join(items: list[Any], separator: str = "") -> str:
    items = flat(items)
    spend(len(items))
    for item in items:
        if type(item) is not str:
            raise EvalError(f"join: invalid input: {quoted(item)}")
    size = sum(map(len, items)) + len(separator) * len(items)
    hold(size if size < _PART else size * _width(separator, *items))
    return separator.join(items)


_QUOTED = str.maketrans(ESCAPES)


def _quote(s: str) -> str:
    return '"' + "".join(_quoted(s[at : at + _PART]) for at in range(0, len(s), _PART)) + '"'


def _quoted(part: str) -> str:
    spend(3 * len(part))
    hold(2 * len(part) * _width(part))
    return "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in part).translate(_QUOTED)


_COMMON = functions(
    overload("string_char_at_int", "string.charAt(int) -> string", _char_at),
    overload("string_index_of_string", "string.indexOf(string) -> int", _index_of),
    overload("string_index_of_string_int", "string.indexOf(string, int) -> int", _index_of),
    overload("string_last_index_of_string", "string.lastIndexOf(string) -> int", _last_index_of),
    overload(
        "string_last_index_of_string_int", "string.lastIndexOf(string, int) -> int", _last_index_of
    ),
    overload("string_lower_ascii", "string.lowerAscii() -> string", _lower),
    overload("string_replace_string_string", "string.replace(string, string) -> string", _replace),
    overload(
        "string_replace_string_string_int",
        "string.replace(string, string, int) -> string",
        _replace,
    ),
    overload("string_split_string", "string.split(string) -> list(string)", _split),
    overload("string_split_string_int", "string.split(string, int) -> list(string)", _split),
    overload("string_substring_int", "string.substring(int) -> string", _substring),
    overload("string_substring_int_int", "string.substring(int, int) -> string", _substring),
    overload("string_trim", "string.trim() -> string", lambda s: s.strip(_SPACE)),
    overload("string_upper_ascii", "string.upperAscii() -> string", _upper),
    overload("strings_quote", "strings.quote(string) -> string", _quote),
    overload("list_join", "list(string).join() -> string", _join),
    overload("list_join_string", "list(string).join(string) -> string", _join),
)

STRINGS_V2 = merge(
    _COMMON,
    functions(overload("string_format", "string.format(list(dyn)) -> string", format_local)),
)
STRINGS = merge(
    _COMMON,
    functions(
        overload("string_format", "string.format(list(dyn)) -> string", format_plain),
        overload("string_reverse", "string.reverse() -> string", lambda s: s[::-1]),
    ),
)
