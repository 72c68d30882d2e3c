"""Lists of completion indexes such as ``0,2-5`` (k8s.io/kubernetes ``apis/batch/validation``, validateIndexesFormat)."""

from __future__ import annotations

from apiserver.fielderrors import go_quote


class IndexesError(ValueError):
    """The text says what is wrong."""


def count_indexes(text: str, completions: int | None) -> int:
    """How many indexes the list has. They must grow and stay below ``completions``. Raises IndexesError."""
    if not text:
        return 0
    last, total = -1, 0
    for part in text.split(","):
        bounds = part.split("-")
        if len(bounds) > 2:
            why = "violates the requirement that an index interval can have at most two parts separated by '-'"
            raise IndexesError(f"the fragment {go_quote(part)} {why}")
        numbers = [_index(bound, completions) for bound in bounds]
        if numbers[0] <= last:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {numbers[0]}")
        if len(numbers) == 2 and numbers[1] <= numbers[0]:
            raise IndexesError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
        last = numbers[-1]
        total += numbers[-1] - numbers[0] + 1
    return total


def _index(text: str, completions: int | None) -> int:
    if not (text.isascii() and text.isdigit()):
        raise IndexesError(f"cannot convert string to integer for index: {go_quote(text)}")
    if completions is not None and int(text) >= completions:
        raise IndexesError(f"too large index: {go_quote(text)}")
    return int(text)
