"""Counters, gauges and histograms, and their text form (Prometheus exposition format 0.0.4).

Own code of one page: a request touches three metrics, and with prometheus_client that alone would
cost a third of a GET from the cache.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any, ClassVar, TypeVar

from apiserver.golang.strconv import format_float

Labels = tuple[str, ...]
_RISES_NOT = "="
_DIGITS = 6
"""Behind the point, of sums of histograms: whoever adds up those of several workers gets the same,
whatever the order, where plain sums of binary fractions may come out lower than a moment ago, which
to Prometheus is a counter that began anew."""
_Metric = TypeVar("_Metric", bound="Metric")


Snapshot = dict[str, list[tuple[Sequence[str], Any]]]
"""What a worker has counted, as JSON has it: by metric, label values and a number, or a
histogram's counts and sum; a metric's name begins with "=" where it may fall."""


class Metric:
    """name as upstream; labels: names of the label values that every sample gives, in order."""

    kind: ClassVar[str]
    adds_up: ClassVar[bool] = True
    """Whether the number of all workers is the sum of theirs; otherwise each knows it all."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...]) -> None:
        self.name, self.text, self.labels = name, text, labels

    def cells(self) -> Mapping[Labels, Any]:
        """What this process has counted."""
        raise NotImplementedError

    def joined(self, one: Any, other: Any) -> Any:
        """What two workers have counted."""
        return _sum(one, other)

    def samples(self, values: Labels, cell: Any) -> Iterator[tuple[str, str, float]]:
        yield "", self._pairs(values), cell

    def _pairs(self, values: Labels, more: str = "") -> str:
        pairs = [f'{k}="{_escape(v)}"' for k, v in zip(self.labels, values, strict=True)]
        if more:
            pairs.append(more)
        return "{" + ",".join(pairs) + "}" if pairs else ""


class Counter(Metric):
    kind = "counter"

    def __init__(self, name: str, text: str, labels: tuple[str, ...] = ()) -> None:
        super().__init__(name, text, labels)
        self.values: dict[Labels, float] = {}

    def add(self, values: Labels = (), amount: float = 1) -> None:
        self.values[values] = self.values.get(values, 0) + amount

    def cells(self) -> Mapping[Labels, float]:
        return self.values


class Foreign(Metric):
    """A counter that another part of the program keeps. read: label values → count."""

    kind = "counter"

    def __init__(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        read: Callable[[], Mapping[Labels, float]],
    ) -> None:
        super().__init__(name, text, labels)
        self._read = read

    def cells(self) -> Mapping[Labels, float]:
        return self._read()


class Gauge(Counter):
    kind = "gauge"

    def set(self, values: Labels, value: float) -> None:
        self.values[values] = value


class Known(Gauge):
    """A gauge of what every worker knows for itself."""

    adds_up = False


class Chosen(Metric):
    """A gauge for which one worker's cell stands for those of all. choose: which of several.
    values: lists that end with the number that is shown; the time at which it was found,
    of a clock that the workers share, stands before it where the latest is to be chosen."""

    kind = "gauge"

    def __init__(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        choose: Callable[[list[float], list[float]], list[float]],
    ) -> None:
        super().__init__(name, text, labels)
        self._choose = choose
        self.values: dict[Labels, list[float]] = {}

    def cells(self) -> Mapping[Labels, list[float]]:
        return self.values

    def joined(self, one: list[float], other: list[float]) -> list[float]:
        return self._choose(one, other)

    def samples(self, values: Labels, cell: Any) -> Iterator[tuple[str, str, float]]:
        yield "", self._pairs(values), cell[-1]


class Histogram(Metric):
    kind = "histogram"

    def __init__(
        self, name: str, text: str, labels: tuple[str, ...], buckets: tuple[float, ...]
    ) -> None:
        super().__init__(name, text, labels)
        self.buckets = buckets
        self._bounds = [f'le="{format_float(bound)}"' for bound in (*buckets, inf)]
        self.values: dict[Labels, list[float]] = {}

    def counts(self, values: Labels) -> list[float]:
        """One number a bucket, those above the last bound, and the sum: for callers that add to
        them again and again."""
        cell = self.values.get(values)
        if cell is None:
            cell = self.values[values] = [0.0] * (len(self.buckets) + 2)
        return cell

    def observe(self, values: Labels, value: float) -> None:
        counts = self.counts(values)
        counts[bisect_left(self.buckets, value)] += 1
        counts[-1] += value

    def cells(self) -> Mapping[Labels, list[float]]:
        return {
            labels: [*cell[:-1], round(cell[-1], _DIGITS)] for labels, cell in self.values.items()
        }

    def samples(self, values: Labels, cell: Any) -> Iterator[tuple[str, str, float]]:
        total = 0.0
        for bound, count in zip(self._bounds, cell, strict=False):
            total += count
            yield "_bucket", self._pairs(values, bound), total
        yield "_sum", self._pairs(values), cell[-1]
        yield "_count", self._pairs(values), total


class ForeignHistogram(Histogram):
    """One that another part of the program keeps, without labels. read: as `Histogram.counts`."""

    def __init__(
        self, name: str, text: str, buckets: tuple[float, ...], read: Callable[[], list[float]]
    ) -> None:
        super().__init__(name, text, (), buckets)
        self._read = read

    def cells(self) -> Mapping[Labels, list[float]]:
        self.values[()] = self._read()
        return super().cells()


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, list):
        *counts, total = (a + b for a, b in zip(one, other, strict=True))
        return [*counts, round(total, _DIGITS)]
    return one + other


def add_up(snapshots: Iterable[Snapshot]) -> Snapshot:
    """What dead workers have counted between them; their gauges went with them."""
    totals: dict[str, dict[Labels, Any]] = {}
    for snapshot in snapshots:
        for name, cells in snapshot.items():
            if name.startswith(_RISES_NOT):
                continue
            total = totals.setdefault(name, {})
            for values, cell in cells:
                labels = tuple(values)
                total[labels] = _sum(total[labels], cell) if labels in total else cell
    return {name: list(total.items()) for name, total in totals.items()}


def _number(value: float) -> str:
    if not isfinite(value):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Metrics:
    def __init__(self) -> None:
        self._metrics: list[Metric] = []

    def add(self, metric: _Metric) -> _Metric:
        """The same metric, which is exposed after those that are there."""
        self._metrics.append(metric)
        return metric

    def snapshot(self) -> Snapshot:
        """For other workers; what each knows for itself is left out."""
        return {
            (_RISES_NOT if metric.kind == "gauge" else "") + metric.name: list(
                metric.cells().items()
            )
            for metric in self._metrics
            if metric.adds_up
        }

    def expose(
        self, others: Sequence[Snapshot] = (), own: Snapshot | None = None
    ) -> Iterator[bytes]:
        """Lines, which may be asked for at leisure: counting goes on meanwhile. others: what other
        workers have counted; own: what this one had when it was asked, all that it has by
        default."""
        for metric in self._metrics:
            yield (
                f"# HELP {metric.name} {metric.text}\n# TYPE {metric.name} {metric.kind}\n"
            ).encode()
            for values, cell in _sums(metric, others, own).items():
                for suffix, labels, value in metric.samples(values, cell):
                    yield f"{metric.name}{suffix}{labels} {_number(value)}\n".encode()


def _sums(metric: Metric, others: Sequence[Snapshot], own: Snapshot | None) -> Mapping[Labels, Any]:
    name = (_RISES_NOT if metric.kind == "gauge" else "") + metric.name
    cells = dict(metric.cells())
    if own is not None and metric.adds_up:
        cells = {tuple(values): cell for values, cell in own.get(name, ())}
    for snapshot in others if metric.adds_up else ():
        for values, cell in snapshot.get(name, ()):
            labels = tuple(values)
            cells[labels] = metric.joined(cells[labels], cell) if labels in cells else cell
    return cells
