"""What the workers of this machine have counted since each began, as a scrape of /metrics asks them
(`apiserver.endpoints.metric_peers`): who they are, which requests and kinds of requests take
long, and which webhooks and policies fail."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from admission.policy.observer import NO_ERROR as POLICY_HELD
from apiserver.endpoints import metrics, policy_metrics, slow_requests, webhook_metrics
from apiserver.endpoints.metric_peers import EVERYTHING, ask
from apiserver.endpoints.metric_types import Snapshot
from controlplane import environment
from controlplane.console.facts.asking import Answer

_MOST = 20  # rows
_OTHER_CLOCK = 60.0
"""Seconds by which the database's clock, which entries of writes go by, may be wrong."""
_FOR_EVER = float("inf")
_WATCH = "WATCH"
_LASTING = frozenset({_WATCH, "CONNECT"})
"""Verbs whose requests end when the client likes."""


def snapshots(number: int = EVERYTHING) -> dict[str, Snapshot]:
    """Of each worker that answers, by its process id; of a tenant, or of the installation. None
    where no supervisor has started them."""
    directory = environment.text("METRICS_DIR")
    paths = sorted(Path(directory).glob("w*.sock")) if directory else []
    return asyncio.run(_asked(paths, number))


async def _asked(paths: Sequence[Path], number: int) -> dict[str, Snapshot]:
    answers = await asyncio.gather(*(ask(path, number) for path in paths), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, OSError | ValueError):
            raise answer
    return {
        path.stem[1:]: answer
        for path, answer in zip(paths, answers, strict=True)
        if not isinstance(answer, BaseException)
    }


def workers(found: dict[str, Snapshot]) -> list[Answer]:
    """behind: versions by which what a worker knows lags behind the log of a tenant, of the one
    that lags most."""
    return [
        {
            "pid": pid,
            "requests": int(_total(of, metrics.REQUESTS)),
            "errors": int(sum(n for code, n in codes(of).items() if code >= "500")),
            "inflight": int(_total(of, f"={metrics.INFLIGHT}")),
            "watches": watches([of]),
            "behind": int(_total(of, f"={metrics.LAG}")),
        }
        for pid, of in found.items()
    ]


def watches(found: Iterable[Snapshot]) -> int:
    """That are open."""
    lasting = f"={metrics.LASTING}"
    return int(sum(n for of in found for labels, n in of.get(lasting, ()) if labels[0] == _WATCH))


def codes(snapshot: Snapshot) -> dict[str, float]:
    """Requests by their codes."""
    counts: dict[str, float] = defaultdict(float)
    for labels, number in snapshot.get(metrics.REQUESTS, ()):
        counts[labels[-1]] += number
    return dict(counts)


def _total(snapshot: Snapshot, name: str) -> float:
    return float(sum(number for _, number in snapshot.get(name, ())))


def slowest(found: Iterable[Snapshot]) -> list[Answer]:
    """Kinds of requests, those that took longest in the mean first. slow: how many took a second
    and longer; p99: seconds within which 99 of 100 were answered, None for more than a minute."""
    kinds: dict[tuple[str, ...], list[float]] = {}
    for snapshot in found:
        for labels, cells in snapshot.get(metrics.DURATIONS, ()):
            verb, _, group, _, resource, subresource, *_ = labels
            if verb in _LASTING:
                continue
            key = (verb, group, resource, subresource)
            known = kinds.get(key, [0.0] * len(cells))
            kinds[key] = [a + b for a, b in zip(known, cells, strict=True)]
    rows = [_kind(key, cells) for key, cells in kinds.items()]
    rows.sort(key=lambda row: -row["meanSeconds"])
    return rows[:_MOST]


def _kind(key: tuple[str, ...], cells: Sequence[float]) -> Answer:
    verb, group, resource, subresource = key
    *counts, seconds = cells
    total = sum(counts)
    slow = [n for bound, n in zip((*metrics.BOUNDS, _FOR_EVER), counts, strict=True) if bound > 1]
    return {
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "requests": int(total),
        "meanSeconds": seconds / total if total else 0.0,
        "p99Seconds": _within(counts, total * 0.99),
        "slow": int(sum(slow)),
    }


def slowest_requests(found: Iterable[Snapshot]) -> list[Answer]:
    """Those that took longest of all that were answered lately (`slow_requests.LATELY`), with the
    times between which the audit log may have an entry of each."""
    told = [cell for snapshot in found for cell in snapshot.get(slow_requests.NAME, ())]
    told.sort(key=lambda cell: -cell[1][1])
    names = ("auditID", "verb", "path", "user", "as", "tenant", "code")
    return [
        {
            **dict(zip(names, what, strict=True)),
            "code": int(what[-1]),
            "at": _time(came),
            "seconds": took,
            "since": _time(came - _OTHER_CLOCK),
            "until": _time(came + took + _OTHER_CLOCK),
        }
        for what, (came, took) in told[: slow_requests.MOST]
    ]


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _within(counts: Sequence[float], wanted: float) -> float | None:
    """The upper bound of the bucket in which the wanted request is."""
    seen = 0.0
    for bound, count in zip(metrics.BOUNDS, counts, strict=False):
        seen += count
        if seen >= wanted:
            return bound
    return None


def failing(found: Iterable[Snapshot]) -> list[Answer]:
    """Webhooks that could not be called or gave no answer, policies that could not be evaluated:
    {kind, name, failures}, the kind as a resource of admissionregistration.k8s.io."""
    counts: dict[tuple[str, str], float] = defaultdict(float)
    for snapshot in found:
        for labels, number in snapshot.get(webhook_metrics.REJECTIONS, ()):
            if labels[3] != webhook_metrics.DENIED:
                counts[webhook_metrics.CONFIGURATIONS.get(labels[1], ""), labels[0]] += number
        for labels, number in snapshot.get(webhook_metrics.FAILED_OPEN, ()):
            counts[webhook_metrics.CONFIGURATIONS.get(labels[1], ""), labels[0]] += number
        for kind in ("validating", "mutating"):
            for labels, cells in snapshot.get(policy_metrics.name_of(kind), ()):
                if labels[2] != POLICY_HELD:
                    place = policy_metrics.resource_of(kind), labels[0]
                    counts[place] += sum(cells[:-1])
    most: list[tuple[tuple[str, str], Any]] = sorted(counts.items(), key=lambda one: -one[1])
    return [
        {"resource": resource, "name": name, "failures": int(number)}
        for (resource, name), number in most[:_MOST]
        if number
    ]
