"""Regular expressions in linear time: RE2's syntax, which is Go's, compiled once; errors in the
words of Go's regexp/syntax.

Linear is not short: at worst RE2 takes some 8 ns for every byte of a text and every instruction of
a program, in one call that nothing breaks off, and a pattern of a few characters can make a program
of thousands (``x{1000}``). So the length of patterns, the size of programs and their product with
texts are bounded, and what compiled patterns keep is bounded in bytes for the whole process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock
from typing import Any, Final

import re2

from apiserver.effort import spend

MOST_BYTES: Final = 8 * 1024
"""Of a pattern: it takes RE2 up to 0.2 s to parse that much (``(?i:\\pL)`` repeated)."""
_SMALL, _LARGE = 256 * 1024, 8 * 1024 * 1024
"""Bytes that RE2 may use for a program and the states it remembers; few patterns need the
second."""
CACHE_BYTES: Final = 128 * 1024 * 1024
"""At most, of all patterns that are kept: half a thousand of the small ones."""
_PER_STEP: Final = 12
"""Bytes of text times instructions that RE2 gets through in one step (see `apiserver.effort`)
at worst."""
_FREE: Final = 5_000
"""Bytes of text times instructions that are not counted: 40 µs."""
_MOST_STEPS: Final = 20_000_000
_PARSE_STEPS: Final = 250
"""A byte of a pattern, at worst."""
_LARGE_STEPS: Final = 2_000_000
"""To compile a large program."""

_Engine = re2._re2.RE2
_UNANCHORED = _Engine.Anchor.UNANCHORED


def _options(size: int) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = size
    return options


_OPTIONS = {size: _options(size) for size in (_SMALL, _LARGE)}


class RegexError(Exception):
    """The pattern is no regular expression; the text is Go's."""


class TooExpensive(Exception):
    """To match this pattern with this text would take too long."""


class Regex:
    """A compiled pattern. match: RE2's; program: its instructions; size: the most bytes that it may
    use; used: since it was last considered for dropping."""

    __slots__ = ("match", "program", "size", "used")

    def __init__(self, engine: Any, size: int) -> None:
        self.match = engine.Match
        self.program: int = engine.ProgramSize()
        self.size = size
        self.used = True

    def matches(self, text: str) -> Iterator[str]:
        """What it matches, from the left, as Go's FindAllString has it: no empty match right after
        another. Raises TooExpensive."""
        data = text.encode("utf-8", "surrogatepass")
        at, last, end = 0, -1, len(data)
        while at <= end:
            self.pay(end - at)
            start, stop = self.match(_UNANCHORED, data, at, end)[0]
            if start < 0:
                return
            if not start == stop == last:
                yield data[start:stop].decode("utf-8", "surrogatepass")
                last = stop
            at = stop if stop > at else at + _width(data, at)

    def pay(self, length: int) -> None:
        """For a match with so many bytes. Raises TooExpensive."""
        steps = 20 + length * self.program // _PER_STEP
        if steps > _MOST_STEPS:
            raise TooExpensive
        # states that are remembered make all but few matches a hundred times cheaper
        spend(steps if steps > 100_000 else 20 + steps // 100)


def _width(data: bytes, at: int) -> int:
    """Bytes of the character at an offset."""
    first = data[at] if at < len(data) else 0
    return 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


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
_TOO_LARGE: Final = b"pattern too large - compile failed"


def _go_error(raw: bytes) -> RegexError:
    what, colon, where = raw.decode(errors="replace").partition(": ")
    what = _GO_WORDS.get(what, what)
    return RegexError(
        f"error parsing regexp: {what}: `{where}`" if colon else f"error parsing regexp: {what}: ``"
    )


_lock = Lock()
_cache: OrderedDict[str, Regex] = OrderedDict()


def parse_regex(pattern: str) -> Regex:
    """The compiled pattern. Raises RegexError."""
    cached = _cache.get(pattern)
    if cached is not None:
        cached.used = True
        return cached
    regex = _compile(pattern)
    _keep(pattern, regex)
    return regex


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern matches anywhere in the text. Raises RegexError, TooExpensive."""
    regex = _cache.get(pattern) or parse_regex(pattern)
    regex.used = True
    data = text.encode("utf-8", "surrogatepass")
    end = len(data)
    if end * regex.program > _FREE:
        regex.pay(end)
    return bool(regex.match(_UNANCHORED, data, 0, end)[0][0] >= 0)


def _compile(pattern: str) -> Regex:
    try:
        data = pattern.encode()
    except UnicodeEncodeError as e:
        raise RegexError(f"error parsing regexp: {e.encoding}: ``") from None
    if len(data) > MOST_BYTES:
        raise RegexError(f"error parsing regexp: expression too large: `{pattern[:100]}`")
    spend(1000 + len(data) * _PARSE_STEPS)
    engine = _Engine(data, _OPTIONS[_SMALL])
    size = _SMALL
    if not engine.ok() and engine.error() == _TOO_LARGE:
        spend(_LARGE_STEPS)
        engine, size = _Engine(data, _OPTIONS[_LARGE]), _LARGE
    if engine.ok():
        return Regex(engine, size)
    error = engine.error()
    raise (
        RegexError(f"error parsing regexp: expression too large: `{pattern[:100]}`")
        if error == _TOO_LARGE
        else _go_error(error)
    )


def cached_bytes() -> int:
    """The most bytes that all kept patterns may use."""
    return sum(regex.size for regex in list(_cache.values()))


def _keep(pattern: str, regex: Regex) -> None:
    """Drops those that were not used since they were last looked at, oldest first, until there is
    room."""
    with _lock:
        if pattern in _cache:
            return
        size = (
            cached_bytes() + regex.size
        )  # counted anew, because a thread may be ended at any place
        while size > CACHE_BYTES:
            oldest, dropped = _cache.popitem(last=False)
            if dropped.used:
                dropped.used = False
                _cache[oldest] = dropped
            else:
                size -= dropped.size
        _cache[pattern] = regex
