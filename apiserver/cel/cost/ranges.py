"""A least and a most, of sizes or of costs. All numbers saturate at 2**64 - 1, which stands for
"unknown" (cel-go ``checker/cost.go``)."""

from __future__ import annotations

from math import ceil
from typing import Final, NamedTuple

MAX: Final = (1 << 64) - 1


class Range(NamedTuple):
    """A least and a most: of sizes or of costs."""

    min: int
    max: int

    def plus(self, other: Range) -> Range:
        return Range(min(self.min + other.min, MAX), min(self.max + other.max, MAX))

    def times(self, other: Range) -> Range:
        return Range(min(self.min * other.min, MAX), min(self.max * other.max, MAX))

    def factor(self, f: float) -> Range:
        return Range(_factor(self.min, f), _factor(self.max, f))

    def union(self, other: Range) -> Range:
        return Range(min(self.min, other.min), max(self.max, other.max))


def _factor(x: int, f: float) -> int:
    return MAX if x >= MAX / f else min(ceil(float(x) * f), MAX)


def fixed(n: int) -> Range:
    return Range(n, n)


ZERO: Final = fixed(0)
ONE: Final = fixed(1)
UNKNOWN: Final = Range(0, MAX)
