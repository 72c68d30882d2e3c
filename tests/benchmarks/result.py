"""One line of the table: what was measured, beside its yardstick from the same run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Measure:
    """rate: operations per second; cpu: microseconds of processor time of the serving processes for
    each; seconds: it lasted."""

    rate: float
    cpu: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class Result:
    """value in ``unit``; ratio: of value and yardstick; cpu: µs of the workers for one operation;
    notes: percentiles and the like."""

    name: str
    value: float
    unit: str
    yardstick: float | None = None
    cpu: float | None = None
    yardstick_cpu: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, unit: str, ours: Measure, theirs: Measure, **notes: Any) -> Result:
        return cls(name, ours.rate, unit, theirs.rate, ours.cpu, theirs.cpu, notes)

    @property
    def ratio(self) -> float | None:
        return self.value / self.yardstick if self.yardstick else None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


HEADS = ("what", "measured", "unit", "yardstick", "ratio", "CPU µs", "its CPU µs", "notes")


def table(results: list[Result]) -> str:
    rows = [HEADS, *(_row(r) for r in results)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS) - 1)]
    lines = []
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(row[1:-1], widths[1:], strict=True)),
            row[-1],
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _row(r: Result) -> tuple[str, ...]:
    ratio = "" if r.ratio is None else f"{r.ratio:.1%}"
    notes = ", ".join(f"{k} {v}" for k, v in r.notes.items())
    return (
        r.name,
        _number(r.value),
        r.unit,
        _number(r.yardstick),
        ratio,
        _number(r.cpu),
        _number(r.yardstick_cpu),
        notes,
    )


def _number(value: float | None) -> str:
    if not value:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"


def percentiles(values: list[float]) -> dict[str, str]:
    """p50, p99 and the largest of some seconds, as milliseconds."""
    if not values:
        return {}
    ordered = sorted(values)
    picks = {
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[int(len(ordered) * 0.99)],
        "max": ordered[-1],
    }
    return {name: f"{value * 1000:.1f} ms" for name, value in picks.items()}
