"""Lists of completion indexes such as ``0,2-5`` (k8s.io/kubernetes ``apis/batch/validation``,
validateIndexesFormat)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apiserver.golang.strconv import go_quote, whole


class IndexesError(ValueError):
    """The text says what is wrong."""


def count_indexes(text: str, completions: int | None) -> int:
    """How many indexes the list has. They must grow and stay below ``completions``. Raises
    IndexesError."""
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
    mine, theirs = (_joined(_intervals(text, completions)) for text in (one, other))
    i = j = 0
    while i < len(mine) and j < len(theirs):
        (first, last), (their_first, their_last) = mine[i], theirs[j]
        if first <= their_last and their_first <= last:
            return max(first, their_first)
        if last < their_last:
            i += 1
        else:
            j += 1
    return None


def _joined(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same indexes in intervals that do not overlap, in order."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(intervals):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def _intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        try:
            yield _interval(part, completions)
        except IndexesError:
            continue


def _interval(part: str, completions: int | None) -> tuple[int, int]:
    bounds = part.split("-")
    if len(bounds) > 2:
        why = (
            "violates the requirement that an index interval can have at most two parts "
            "separated by '-'"
        )
        raise IndexesError(f"the fragment {go_quote(part)} {why}")
    numbers = [_index(bound, completions) for bound in bounds]
    if len(numbers) == 2 and numbers[1] <= numbers[0]:
        raise IndexesError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _index(text: str, completions: int | None) -> int:
    if not (text.isascii() and text.isdigit()):
        raise IndexesError(f"cannot convert string to integer for index: {go_quote(text)}")
    if completions is not None and whole(text) >= completions:
        raise IndexesError(f"too large index: {go_quote(text)}")
    return whole(text)
