"""Lists of completion indexes such as ``0,2-5`` (k8s.io/kubernetes ``apis/batch/validation``, validateIndexesFormat)."""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.fielderrors import go_quote


class IndexesError(ValueError):
    """The text says what is wrong."""


def count_indexes(text: str, completions: int | None) -> int:
    """How many indexes the list has. They must grow and stay below ``completions``. Raises IndexesError."""
    if not text:
        return 0
    last, total = -1, 0
    for part in text.split(","):
        first, final = _interval(part, completions)
        if first <= last:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        last = final
        total += final - first + 1
    return total


def overlap(one: str, other: str, completions: int) -> int | None:
    """The first index that is in both lists; what is no interval is passed over."""
    intervals = [sorted(_intervals(text, completions)) for text in (one, other)]
    common = (max(a[0], b[0]) for a in intervals[0] for b in intervals[1] if a[0] <= b[1] and b[0] <= a[1])
    return min(common, default=None)


def _intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        try:
            yield _interval(part, completions)
        except IndexesError:
            continue


def _interval(part: str, completions: int | None) -> tuple[int, int]:
    bounds = part.split("-")
    if len(bounds) > 2:
        why = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise IndexesError(f"the fragment {go_quote(part)} {why}")
    numbers = [_index(bound, completions) for bound in bounds]
    if len(numbers) == 2 and numbers[1] <= numbers[0]:
        raise IndexesError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _index(text: str, completions: int | None) -> int:
    if not (text.isascii() and text.isdigit()):
        raise IndexesError(f"cannot convert string to integer for index: {go_quote(text)}")
    if completions is not None and int(text) >= completions:
        raise IndexesError(f"too large index: {go_quote(text)}")
    return int(text)
