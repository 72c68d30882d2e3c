"""How priority levels share their seats (k8s.io/apiserver ``util/flowcontrol/conc_alloc.go`` and
``apf_controller.go``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apiserver.flow.queueset import Demand

_LEAST = 0.001
_SLOWLY = 0.977
"""How much of what a level seemed to want is left after one period."""


class Claim(NamedTuple):
    """What a level would like, within bounds."""

    target: float
    least: float
    most: float

    @property
    def weight(self) -> float:
        return max(self.target, _LEAST)


def allocate(seats: float, claims: Sequence[Claim]) -> tuple[list[float], float]:
    """(what each gets, the fraction of its target that a level gets which no bound holds). Together
    they get ``seats``, or what is nearest to it within the bounds: the one fraction for which that
    is so is looked for between the fractions at which a bound begins or ceases to hold."""
    if not claims:
        return [], 0.0
    turns = sorted({bound / c.weight for c in claims for bound in (c.least, c.most)})
    low, high = 0.0, turns[0]
    for high in turns:
        if _given(high, claims) >= seats:
            break
        low = high
    below, above = _given(low, claims), _given(high, claims)
    part = min(max((seats - below) / (above - below), 0.0), 1.0) if above > below else 0.0
    fraction = low + part * (high - low)
    return [_bounded(fraction, c) for c in claims], fraction


def _bounded(fraction: float, claim: Claim) -> float:
    return max(claim.least, min(claim.most, fraction * claim.weight))


def _given(fraction: float, claims: Sequence[Claim]) -> float:
    return sum(_bounded(fraction, c) for c in claims)


class Smoothed:
    """What a level wants, as rising at once and falling slowly. average, deviation, most: of the
    last period."""

    __slots__ = ("average", "deviation", "most", "value")

    def __init__(self) -> None:
        self.average = self.deviation = self.value = 0.0
        self.most = 0

    def add(self, demand: Demand) -> None:
        self.most = demand.most
        if demand.seconds <= 0:
            return
        self.average, self.deviation = demand.average, demand.deviation
        envelope = demand.average + demand.deviation
        self.value = max(envelope, _SLOWLY * self.value + (1 - _SLOWLY) * envelope)
