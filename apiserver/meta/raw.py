"""Objects of unknown shape that keep their text (apimachinery's ``runtime.RawExtension``).

kube-apiserver does not read such a field of a built-in kind: it keeps the bytes, compares them as
bytes, gives them out as they are in protobuf, and without spaces in JSON. Here the field is a
dictionary as any other, of a class of its own that remembers the text.

A way is a tree of member names, ``[]`` for the items of a list, with None where the fields are
(`way_of`). Everything here follows it and leaves the rest of an object alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import orjson

from apiserver.golang.json import escape_html, marshal

Way = Mapping[str, Any]
_ITEMS = "[]"
_SPACES = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')
_UNSTORABLE = re.compile(r"(?<![0-9])[0-9]{400}|[0-9][eE][-+]?[0-9]{4}|\\u[dD][89a-fA-F]")
"""Numbers beyond PostgreSQL's, and what may be half a surrogate pair: such a text is not kept."""


class RawObject(dict[str, Any]):
    """Never changed. Two are equal if their texts are. ``text``: "" for what Go would write of the
    value: without spaces, members sorted."""

    __slots__ = ("_text",)

    def __init__(self, value: Mapping[str, Any], text: str = "") -> None:
        super().__init__(value)
        self._text = "" if text and _UNSTORABLE.search(text) else text

    @property
    def text(self) -> str:
        if not self._text:
            self._text = marshal(dict(self), orjson.OPT_SORT_KEYS).decode()
        return self._text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RawObject):
            return self.text == other.text
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def compact(text: str) -> str:
    """JSON as encoding/json writes what has encoded itself: without spaces, HTML escaped."""
    return escape_html(_SPACES.sub(r"\1", text).encode()).decode()


def dumps(obj: Any) -> bytes:
    """JSON of an object whose RawObjects stand there as they were sent. Raises TypeError for what
    is nested deeper than orjson goes, inside of them, too."""
    orjson.dumps(obj)
    return orjson.dumps(obj, default=_fragment, option=orjson.OPT_PASSTHROUGH_SUBCLASS)


def _fragment(value: Any) -> Any:
    if isinstance(value, RawObject):
        return orjson.Fragment(value.text.encode())
    raise TypeError(f"{type(value).__name__} is not JSON")


def without_texts(value: Any) -> Any:
    """A deep copy of any JSON value, of ordinary dictionaries and lists."""
    if isinstance(value, dict):
        return {k: without_texts(v) if isinstance(v, dict | list) else v for k, v in value.items()}
    if isinstance(value, list):
        return [without_texts(v) if isinstance(v, dict | list) else v for v in value]
    return value


# --- along a way ----------------------------------------------------------------------------------
@cache
def way_of(paths: Sequence[str]) -> Way:
    """From paths such as ``spec.config[].opaque.parameters``."""
    way: dict[str, Any] = {}
    for path in paths:
        *steps, last = path.replace(_ITEMS, "." + _ITEMS).split(".")
        node = way
        for step in steps:
            node = node.setdefault(step, {})
        node[last] = None
    return way


def raws(value: Any, way: Way | None) -> Iterator[RawObject]:
    """All that the way leads to."""
    if way is None:
        if isinstance(value, RawObject):
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from raws(item, way.get(_ITEMS, {}))
    elif isinstance(value, dict):
        for name in way.keys() & value.keys():
            yield from raws(value[name], way[name])


def plain(value: Any, way: Way | None) -> Any:
    """The value with ordinary dictionaries; what is not on the way is shared."""
    if way is None:
        return dict(value) if isinstance(value, RawObject) else value
    if isinstance(value, list):
        return [plain(item, way.get(_ITEMS, {})) for item in value]
    if isinstance(value, dict):
        return {n: plain(member, way[n]) if n in way else member for n, member in value.items()}
    return value


def loads(text: str, way: Way) -> Any:
    """An object with its RawObjects."""
    value = orjson.loads(text)
    attach(value, text, way)
    return value


def attach(value: Any, text: str, way: Way) -> None:
    """Makes RawObjects, in place, of what ``text``, the JSON of the value, has on the way."""
    _container(value, text, _next(text, 0), way)


def patched(text: str, old: Any, way: Way) -> Any:
    """The object that a patch made of ``old``. ``text``: of what it made of a `plain` one; what it
    has not changed there is spelled as it was."""
    value = loads(text, way)
    kept = {
        escape_html(orjson.dumps(dict(raw))).decode(): compact(raw.text) for raw in raws(old, way)
    }
    for raw in raws(value, way):
        raw._text = kept.get(raw.text, raw.text)
    return value


_SPACE = re.compile(r"[ \t\r\n]*")
_SCAN = json.JSONDecoder(parse_int=len, parse_float=len).scan_once  # type: ignore[attr-defined]  # typeshed's gap
_STRING = json.decoder.scanstring  # type: ignore[attr-defined]  # typeshed's gap


def _next(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _container(value: Any, text: str, at: int, way: Way) -> int:
    """``at``: where the value's text begins; the answer: where it ends. A text that is no container
    is passed over, and so is one that is not that of the value (a member given twice)."""
    if text[at] == "{":
        return _members(value if isinstance(value, dict) else {}, text, at, way)
    if text[at] == "[":
        return _items(value if isinstance(value, list) else [], text, at, way.get(_ITEMS, {}))
    return int(_SCAN(text, at)[1])


def _members(value: dict[str, Any], text: str, at: int, way: Way) -> int:
    at = _next(text, at + 1)
    while text[at] != "}":
        name, at = _STRING(text, at + 1)
        begin = _next(text, _next(text, at) + 1)
        member = value.get(name)
        if way.get(name) is not None:
            at = _container(member, text, begin, way[name])
        else:
            at = int(_SCAN(text, begin)[1])
            if name in way and isinstance(member, dict):
                value[name] = RawObject(member, text[begin:at])
        at = _next(text, at)
        at = _next(text, at + 1) if text[at] == "," else at
    return at + 1


def _items(value: list[Any], text: str, at: int, way: Way) -> int:
    at, index = _next(text, at + 1), 0
    while text[at] != "]":
        item = value[index] if index < len(value) else None
        at, index = _next(text, _container(item, text, at, way)), index + 1
        at = _next(text, at + 1) if text[at] == "," else at
    return at + 1
