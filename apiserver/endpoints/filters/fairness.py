"""API Priority and Fairness: a request gets seats at the priority level to which a FlowSchema of
its tenant assigns it, or waits for them in a queue (k8s.io/apiserver
``server/filters/priority-and-fairness.go``).

Before anything is decoded or authorized, after impersonation: who a request acts as decides where
it belongs. A watch gives its seats back when it has sent its initial events.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Defaults, TenantInfo
from apiserver.errors import Overloaded
from apiserver.flow.estimates import ONE, work_of
from apiserver.flow.levels import Flow
from apiserver.flow.occupancy import EXECUTING, WAITING
from apiserver.flow.queueset import Rejected, Ticket, Work
from apiserver.golang.time import TimeError, parse_duration
from apiserver.registry.flowcontrol import Control, FlowControl
from apiserver.registry.offload import ClientGone
from apiserver.registry.options import first
from apiserver.request import LASTING_SUBRESOURCES, RequestInfo

REQUEST_SECONDS = 60.0
"""kube-apiserver's ``--request-timeout``; a request may wait for a quarter of its time."""
_SMALL_BODY = 64 * 1024
"""Bytes that may be read of a request that waits, so that one hears when its client goes."""
_OF_ONE_OBJECT = frozenset({"get", "deletecollection"})


async def enter(
    flows: FlowControl, defaults: Defaults, request: ApiRequest, tenant: TenantInfo
) -> None:
    """Raises Overloaded, ClientGone, StorageError."""
    info = request.info
    if info.verb == "proxy" or info.subresource in LASTING_SUBRESOURCES:
        return  # nobody counts seats for what lasts; a watch takes some to begin
    control = flows.ready(tenant.id)
    if control is None:
        limit = defaults.inflight if tenant.max_inflight is None else tenant.max_inflight
        control = await flows.look(tenant.id, limit)
    flow = control.levels.classify(info, request.user)
    level, counts = flow.level, flow.counts
    request.response_headers += flow.headers
    request.place = flow.place
    if info.verb in _OF_ONE_OBJECT or not info.is_resource:
        work, cells = ONE, counts.estimated.cells
        cells[0] += 1  # the first bucket, without looking for it
        cells[-1] += 1
    else:
        work = _work(control, request, flow)
    ticket = Ticket(flow, work, who=request)
    try:
        if not level.queues.ask(ticket):
            await _wait(request, ticket, flow)
        elif not level.exempt:
            counts.waited[True].cells[0] += 1
    except Rejected:
        level.retry.dropped(time.time())
        raise Overloaded(level.retry.seconds) from None
    request.ticket = ticket
    flow.traffic.change(info.verb, EXECUTING, 1)
    if info.verb == "watch":
        request.unwatch = control.watchers.add(info, request.query)


def _work(control: Control, request: ApiRequest, flow: Flow) -> Work:
    """Of more than one object, perhaps."""
    info, counts = request.info, flow.counts

    def watchers(info: RequestInfo) -> int:
        number = control.watchers.of(info)
        counts.watchers.add(number)
        return number

    most = flow.level.most_of_request
    work = work_of(info, request.query, most, control.stock, watchers)
    counts.estimated.add(work.most)
    return work


def leave(request: ApiRequest) -> None:
    """Gives the seats back, once: the request is over, or the watch has begun."""
    ticket, request.ticket = request.ticket, None
    if ticket is None:
        return
    flow: Flow = ticket.flow  # type: ignore[assignment]  # `enter` has put one there
    lasted = flow.level.queues.finish(ticket)
    flow.traffic.change(request.info.verb, EXECUTING, -1)
    (flow.counts.watched if request.info.verb == "watch" else flow.counts.lasted).add(lasted)


def over(request: ApiRequest) -> None:
    """Nothing of the request is left."""
    if request.ticket is not None:
        leave(request)
    if request.unwatch is not None:
        request.unwatch()


async def _wait(request: ApiRequest, ticket: Ticket, flow: Flow) -> None:
    """Until it has its seats. Raises Rejected where that takes too long, ClientGone."""
    queues, verb = flow.level.queues, request.info.verb
    turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ticket.wake = lambda: None if turn.done() else turn.set_result(None)
    leaving = asyncio.ensure_future(request.gone()) if _is_small(request) else None
    flow.traffic.change(verb, WAITING, 1)
    waited = {turn} if leaving is None else {turn, leaving}
    seconds = max(request.received + _patience(request) - time.time(), 0.0)
    try:
        await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        if not ticket.waiting:
            queues.finish(ticket)
        raise
    finally:
        flow.traffic.change(verb, WAITING, -1)
        if leaving is not None:
            leaving.cancel()
        spread = ticket.flow.counts.waited[not ticket.waiting]
        if missed := ticket.waiting:
            queues.withdraw(ticket)
        spread.add(time.monotonic() - ticket.arrived)
    if missed and leaving is not None and leaving.done() and not leaving.cancelled():
        raise ClientGone
    if missed:
        raise Rejected("time-out")


def _patience(request: ApiRequest) -> float:
    """Seconds from its arrival."""
    asked = 0.0
    with suppress(TimeError):  # the view tells the client that it is none
        asked = parse_duration(first(request.query, "timeout") or "0s") / 1e9
    watch = request.info.verb == "watch"
    return (min(asked, REQUEST_SECONDS) if asked > 0 and not watch else REQUEST_SECONDS) / 4


def _is_small(request: ApiRequest) -> bool:
    """Whether its body is no more than the connection would keep anyway."""
    length = request.header(b"content-length")
    if not length:
        return b"transfer-encoding" not in request.raw_headers
    return length.isdigit() and int(length) <= _SMALL_BODY
