"""Counters, gauges and histograms, and their text form (Prometheus exposition format 0.0.4).

Own code of one page: a request touches three metrics, and with prometheus_client that alone would
cost a third of a GET from the cache.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, TypeVar

Labels = tuple[str, ...]
_Metric = TypeVar("_Metric", bound="Metric")


class Metric:
    """name as upstream; labels: names of the label values that every sample gives, in order."""

    kind: ClassVar[str]

    def __init__(self, name: str, text: str, labels: tuple[str, ...]) -> None:
        self.name, self.text, self.labels = name, text, labels

    def samples(self) -> Iterator[tuple[str, str, float]]:
        raise NotImplementedError

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

    def samples(self) -> Iterator[tuple[str, str, float]]:
        for values, value in list(self.values.items()):
            yield "", self._pairs(values), value


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

    def samples(self) -> Iterator[tuple[str, str, float]]:
        for values, value in list(self._read().items()):
            yield "", self._pairs(values), value


class Gauge(Counter):
    kind = "gauge"

    def set(self, values: Labels, value: float) -> None:
        self.values[values] = value


class Histogram(Metric):
    kind = "histogram"

    def __init__(
        self, name: str, text: str, labels: tuple[str, ...], buckets: tuple[float, ...]
    ) -> None:
        super().__init__(name, text, labels)
        self.buckets = buckets
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

    def samples(self) -> Iterator[tuple[str, str, float]]:
        for values, counts in list(self.values.items()):
            total = 0.0
            for bound, count in zip((*self.buckets, "+Inf"), counts, strict=False):
                total += count
                yield "_bucket", self._pairs(values, f'le="{bound}"'), total
            yield "_sum", self._pairs(values), counts[-1]
            yield "_count", self._pairs(values), total


def _number(value: float) -> str:
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

    def expose(self) -> Iterator[bytes]:
        """Lines, which may be asked for at leisure: counting goes on meanwhile."""
        for metric in self._metrics:
            yield (
                f"# HELP {metric.name} {metric.text}\n# TYPE {metric.name} {metric.kind}\n"
            ).encode()
            for suffix, labels, value in metric.samples():
                yield f"{metric.name}{suffix}{labels} {_number(value)}\n".encode()
