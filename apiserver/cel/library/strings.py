"""String functions (cel-go ``ext/strings.go``): version 2, which Kubernetes has, and what later versions add."""

from __future__ import annotations

from typing import Any

from apiserver.cel.decls import functions, merge, overload
from apiserver.cel.errors import EvalError
from apiserver.cel.library.formatting import format_local, format_plain

_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_LOWER = {c: c + 32 for c in range(65, 91)}
_UPPER = {c: c - 32 for c in range(97, 123)}


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


def _replace(s: str, old: str, new: str, count: int = -1) -> str:
    return s.replace(old, new, count if count >= 0 else -1)


def _split(s: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        characters = list(s)
        if 0 < count < len(characters):
            return [*characters[: count - 1], "".join(characters[count - 1 :])]
        return characters
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
    for item in items:
        if type(item) is not str:
            raise EvalError(f"join: invalid input: {item}")
    return separator.join(items)


_QUOTED = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
)


def _quote(s: str) -> str:
    return '"' + "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in s).translate(_QUOTED) + '"'


_COMMON = functions(
    overload("string_char_at_int", "string.charAt(int) -> string", _char_at),
    overload("string_index_of_string", "string.indexOf(string) -> int", _index_of),
    overload("string_index_of_string_int", "string.indexOf(string, int) -> int", _index_of),
    overload("string_last_index_of_string", "string.lastIndexOf(string) -> int", _last_index_of),
    overload("string_last_index_of_string_int", "string.lastIndexOf(string, int) -> int", _last_index_of),
    overload("string_lower_ascii", "string.lowerAscii() -> string", lambda s: s.translate(_LOWER)),
    overload("string_replace_string_string", "string.replace(string, string) -> string", _replace),
    overload("string_replace_string_string_int", "string.replace(string, string, int) -> string", _replace),
    overload("string_split_string", "string.split(string) -> list(string)", _split),
    overload("string_split_string_int", "string.split(string, int) -> list(string)", _split),
    overload("string_substring_int", "string.substring(int) -> string", _substring),
    overload("string_substring_int_int", "string.substring(int, int) -> string", _substring),
    overload("string_trim", "string.trim() -> string", lambda s: s.strip(_SPACE)),
    overload("string_upper_ascii", "string.upperAscii() -> string", lambda s: s.translate(_UPPER)),
    overload("strings_quote", "strings.quote(string) -> string", _quote),
    overload("list_join", "list(string).join() -> string", _join),
    overload("list_join_string", "list(string).join(string) -> string", _join),
)

STRINGS_V2 = merge(_COMMON, functions(overload("string_format", "string.format(list(dyn)) -> string", format_local)))
STRINGS = merge(
    _COMMON,
    functions(
        overload("string_format", "string.format(list(dyn)) -> string", format_plain),
        overload("string_reverse", "string.reverse() -> string", lambda s: s[::-1]),
    ),
)
