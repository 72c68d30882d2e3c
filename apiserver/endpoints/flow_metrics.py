"""What is counted about priority and fairness, under kube-apiserver's names (k8s.io/apiserver
``util/flowcontrol/metrics``): put together when somebody asks.

Seats, and what levels wanted, are a tenant's; of the installation only counts of requests are
told, by the names of levels and FlowSchemas in all tenants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from apiserver.endpoints.metric_types import (
    Counter,
    Gauge,
    Histogram,
    Known,
    Labels,
    Metrics,
    Snapshot,
)
from apiserver.flow.counts import Counts, Spread, Tally
from apiserver.flow.levels import Level, Levels
from apiserver.flow.occupancy import TRAFFIC
from apiserver.registry.flowcontrol import FlowControl

_PREFIX = "apiserver_flowcontrol_"
_LEVEL, _BOTH = ("priority_level",), ("priority_level", "flow_schema")

_OF_COUNTS: tuple[tuple[str, str, type[Counter], Callable[[Counts], float]], ...] = (
    ("dispatched_requests_total", "Requests that were served.", Counter, lambda c: c.dispatched),
    ("current_inqueue_requests", "Requests in queues.", Gauge, lambda c: c.waiting),
    ("current_inqueue_seats", "Seats that queues wait for.", Gauge, lambda c: c.waiting_seats),
    ("current_executing_requests", "Requests being served.", Gauge, lambda c: c.executing),
    ("current_executing_seats", "Seats that are taken.", Gauge, lambda c: c.seats),
    (
        "request_dispatch_no_accommodation_total",
        "Times that the next request did not fit into the seats that were free.",
        Counter,
        lambda c: c.no_accommodation,
    ),
)
_OF_SPREADS: tuple[tuple[str, str, str, Callable[[Counts], Mapping[str, Spread]]], ...] = (
    (
        "request_wait_duration_seconds",
        "How long requests waited for their seats.",
        "execute",
        lambda c: {"true": c.waited[True], "false": c.waited[False]},
    ),
    (
        "request_execution_seconds",
        "How long requests had their seats.",
        "type",
        lambda c: {"regular": c.lasted, "watch": c.watched},
    ),
    (
        "request_queue_length_after_enqueue",
        "Length of a queue with the request that has just come.",
        "",
        lambda c: {"": c.lengths},
    ),
    ("work_estimated_seats", "Seats that requests asked for.", "", lambda c: {"": c.estimated}),
    ("watch_count_samples", "Watchers of what is changed.", "", lambda c: {"": c.watchers}),
)
_OF_LEVELS: tuple[tuple[str, str, Callable[[Level], float]], ...] = (
    ("nominal_limit_seats", "Seats by the level's shares.", lambda x: x.nominal),
    ("lower_limit_seats", "Seats that are never lent.", lambda x: x.least),
    ("upper_limit_seats", "Seats with all that may be borrowed.", lambda x: x.most),
    ("current_limit_seats", "Seats that the level has now.", lambda x: x.current),
    (
        "demand_seats_high_watermark",
        "Most seats wanted in the last period.",
        lambda x: x.demand.most,
    ),
    ("demand_seats_average", "Seats wanted in the last period.", lambda x: x.demand.average),
    ("demand_seats_stdev", "Standard deviation of seats wanted.", lambda x: x.demand.deviation),
    ("demand_seats_smoothed", "Seats wanted lately.", lambda x: x.demand.value),
    ("target_seats", "Seats that the level should have.", lambda x: x.target),
    ("current_r", "Virtual time of the level's queues.", lambda x: x.queues.r),
    ("dispatch_r", "Virtual time of the last dispatch.", lambda x: x.queues.dispatch_r),
    (
        "latest_s",
        "Virtual time at which what was dispatched last would have begun.",
        lambda x: x.queues.latest_s,
    ),
)


_BOUNDS = (
    ("next_s_bounds", "When the oldest requests of queues would begin, in virtual time.", False),
    (
        "next_discounted_s_bounds",
        "The same, less the work that the queues have begun.",
        True,
    ),
)


_NANOSECONDS = 1e9
_OF_TIMES: tuple[tuple[str, str, Mapping[str, int]], ...] = (
    ("demand_seats", "Nanoseconds by seats wanted, as a part of the level's seats.", {"": 0}),
    (
        "priority_level_seat_utilization",
        "Nanoseconds by seats taken, as a part of the level's seats.",
        {"executing": 1},
    ),
    (
        "priority_level_request_utilization",
        "Nanoseconds by requests that wait, as a part of the places in queues, and by requests "
        "that are served, as a part of the level's seats.",
        {"waiting": 2, "executing": 3},
    ),
)
"""By phase the place in `QueueSet.occupancy`."""


def expose(
    flows: FlowControl | None,
    tenant: int | None,
    others: Sequence[Snapshot] = (),
    own: Snapshot | None = None,
) -> Iterator[bytes]:
    """Lines of the tenant's metrics, or of the installation's (None). others, own: see
    `Metrics.expose`."""
    return gather(flows, tenant).expose(others, own)


def gather(flows: FlowControl | None, tenant: int | None) -> Metrics:
    """What this process knows; nothing where the feature is switched off."""
    metrics = Metrics()
    if flows is None:
        return metrics
    if tenant is None:
        tally = Tally()
        tally.include(flows.past)
        for control in flows.controls.values():
            tally.include(control.levels.tally)
        _add_counts(metrics, tally)
    elif (own := flows.controls.get(tenant)) is not None:
        _add_counts(metrics, own.levels.tally)
        _add_levels(metrics, own.levels)
    return metrics


def _add_counts(metrics: Metrics, tally: Tally) -> None:
    for name, text, kind, read in _OF_COUNTS:
        metrics.add(kind(_PREFIX + name, text, _BOTH)).values |= tally.pick(read)
    rejected = metrics.add(
        Counter(f"{_PREFIX}rejected_requests_total", "Rejected requests.", (*_BOTH, "reason"))
    )
    for key, counts in tally.counts.items():
        rejected.values |= {(*key, reason): n for reason, n in counts.rejected.items()}
    for name, text, label, spreads in _OF_SPREADS:
        _add_spread(metrics, tally, f"{_PREFIX}{name}", text, label, spreads)


def _add_spread(
    metrics: Metrics,
    tally: Tally,
    name: str,
    text: str,
    label: str,
    spreads: Callable[[Counts], Mapping[str, Spread]],
) -> None:
    histogram: Histogram | None = None
    for key, counts in tally.counts.items():
        for value, spread in spreads(counts).items():
            if histogram is None:
                labels = (*_BOTH, label) if label else _BOTH
                histogram = metrics.add(Histogram(name, text, labels, spread.bounds))
            if any(spread.cells):
                place: Labels = (*key, value) if label else key
                histogram.values[place] = list(spread.cells)


def _add_levels(metrics: Metrics, levels: Levels) -> None:
    for name, text, read in _OF_LEVELS:
        gauge = metrics.add(Gauge(_PREFIX + name, text, _LEVEL))
        for level in levels.levels.values():
            gauge.set((level.name,), read(level))
    for name, text, discounted in _BOUNDS:
        gauge = metrics.add(Gauge(_PREFIX + name, text, (*_LEVEL, "bound")))
        for level in levels.levels.values():
            first, last = level.queues.next_starts(discounted=discounted)
            gauge.set((level.name, "min"), first)
            gauge.set((level.name, "max"), last)
    for name, text, phases in _OF_TIMES:
        _add_times(metrics, levels, name, text, phases)
    _add_traffic(metrics, levels)
    fraction = metrics.add(Known(f"{_PREFIX}seat_fair_frac", "Fraction of targets that is given."))
    fraction.set((), levels.fair_fraction)


def _add_times(
    metrics: Metrics, levels: Levels, name: str, text: str, phases: Mapping[str, int]
) -> None:
    histogram: Histogram | None = None
    for level in levels.levels.values():
        spreads = level.queues.occupancy()
        for phase, place in phases.items():
            spread, labels = spreads[place], ("phase", *_LEVEL) if phase else _LEVEL
            if histogram is None:
                histogram = metrics.add(Histogram(_PREFIX + name, text, labels, spread.bounds))
            values = (phase, level.name) if phase else (level.name,)
            histogram.values[values] = _times(spread)


def _add_traffic(metrics: Metrics, levels: Levels) -> None:
    name, text = (
        "read_vs_write_current_requests",
        (
            "Nanoseconds by requests that wait, as a part of the places in all queues, and by "
            "requests that are served, as a part of all seats."
        ),
    )
    labels = ("phase", "request_kind")
    places = [(p, kind) for p in ("waiting", "executing") for kind in ("readOnly", "mutating")]
    histogram = metrics.add(Histogram(_PREFIX + name, text, labels, TRAFFIC))
    for values, spread in zip(places, levels.traffic.spreads(), strict=True):
        histogram.values[values] = _times(spread)


def _times(spread: Spread) -> list[float]:
    """Whole nanoseconds, of which the sum of ratios need not be whole."""
    *seconds, total = spread.cells
    return [*(float(round(s * _NANOSECONDS)) for s in seconds), total * _NANOSECONDS]
