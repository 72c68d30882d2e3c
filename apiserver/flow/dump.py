"""What is in the queues at this moment, as tables (k8s.io/apiserver
``util/flowcontrol/apf_controller_debug.go``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from apiserver.flow.levels import Flow, Level, Levels
from apiserver.flow.queueset import Queue, Ticket
from apiserver.golang.time import format_duration
from apiserver.request import RequestInfo
from apiserver.user import User

_LEAST_WIDTH, _PADDING = 8, 1
_MOST_QUEUES = 1024
"""Of one level that are shown although nothing is in them."""
_LEVELS = (
    *("PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests"),
    *("ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests"),
    "CancelledRequests",
)
_QUEUES = (
    *("PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse"),
    *("NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"),
)
_REQUESTS = (
    *("PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue"),
    *("FlowDistingsher", "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency"),
    "StartTime",
)
_DETAILS = (
    *("UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"),
)
_NEVER = "0001-01-01T00:00:00Z"


class Asking(Protocol):
    """`Ticket.who`."""

    @property
    def user(self) -> User: ...
    @property
    def info(self) -> RequestInfo: ...


def priority_levels(levels: Levels) -> str:
    rows: list[Sequence[str]] = [_LEVELS]
    for _, level in sorted(levels.levels.items()):
        queues = level.queues
        active = sum(1 for queue in queues.queues.values() if queue.waiting)
        numbers = (queues.waiting, queues.executing, queues.dispatched, queues.rejected, 0)
        flags = (_bool(queues.idle), _bool(level.quiescing))
        cells = (level.name, active, *flags, *numbers, queues.cancelled)
        rows.append(tuple(map(str, cells)))
    return table(rows)


def queues(levels: Levels) -> str:
    rows: list[Sequence[str]] = [_QUEUES]
    for level in levels.levels.values():
        rows.extend(tuple(map(str, (level.name, *_queue(q)))) for q in _all(level))
    return table(rows)


def requests(levels: Levels, clock: float, now: float, *, details: bool) -> str:
    """``clock``: what the levels' clock says; ``now``: seconds since 1970."""
    rows: list[Sequence[str]] = [(*_REQUESTS, *(_DETAILS if details else ()))]
    for level in levels.levels.values():
        for queue in sorted(level.queues.queues.values(), key=lambda q: q.index):
            for index, ticket in enumerate(queue.waiting):
                rows.append(_request(ticket, queue.index, index, now - clock, details))
            rows += [_request(t, queue.index, -1, now - clock, details) for t in queue.executing]
        rows += [_request(t, -1, -1, now - clock, details) for t in level.queues.queueless]
    return table(rows)


def _all(level: Level) -> Iterator[Queue]:
    """With those that are empty, unless there are very many."""
    used = level.queues.queues
    queuing = level.queuing
    count = queuing.queues if queuing is not None else 0
    named = range(count) if count <= _MOST_QUEUES else ()
    for index in sorted({*used, *named}):
        yield used.get(index) or Queue(index)


def _queue(queue: Queue) -> Iterable[Any]:
    initial = sum(ticket.work.initial for ticket in queue.waiting)
    used = (len(queue.waiting), len(queue.executing), queue.seats)
    return (
        queue.index,
        *used,
        _seconds(queue.next_r),
        initial,
        queue.waiting_seats,
        _seconds(queue.work),
    )


def _request(ticket: Ticket, queue: int, index: int, offset: float, details: bool) -> Sequence[str]:
    who: Asking = ticket.who
    work, flow = ticket.work, cast(Flow, ticket.flow)
    cells = [flow.level.name, flow.schema.name, str(queue), str(index), flow.distinguisher]
    cells += [_time(ticket.arrived + offset), str(work.initial), str(work.final)]
    cells += [format_duration(round(work.lingers * 1e9))]
    cells += [_NEVER if ticket.waiting else _time(ticket.started + offset)]
    if details:
        info = who.info
        version = f"{info.group}/{info.version}" if info.group else info.version
        cells += [who.user.name, info.verb, info.path, info.namespace, info.name, version]
        cells += [info.resource, info.subresource]
    return [_one_line(cell) for cell in cells]


def _one_line(text: str) -> str:
    """Names come from clients."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _time(seconds: float) -> str:
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return text.rstrip("0").rstrip(".") + "Z"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _seconds(value: float) -> str:
    """Of seats."""
    whole, rest = divmod(max(round(value * 1e8), 0), 10**8)
    return f"{whole}.{rest:08d}ss"


def table(rows: Sequence[Sequence[str]]) -> str:
    """In columns, as Go's text/tabwriter makes them."""
    lines = [[f"{cell}," for cell in row[:-1]] + [row[-1]] for row in rows]
    widths = [
        max(_LEAST_WIDTH, *(len(line[i]) + _PADDING for line in lines))
        for i in range(len(rows[0]) - 1)
    ]
    return "".join("".join(map(str.ljust, line, widths)) + line[-1] + "\n" for line in lines)
