"""The table row of a pod: how far its containers are (k8s.io/kubernetes ``printers/internalversion``, printPod)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from apiserver.kinds.common import table
from apiserver.meta.times import human_duration, parse_time

Object = Mapping[str, Any]


def cells(pod: Object, now: datetime) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = {c.get("name") for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    total = len(spec.get("containers") or ()) + len(sidecars)
    ready, restarts, last, reason = _progress(spec, status, sidecars)
    if pod["metadata"].get("deletionTimestamp"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    if restarts and last is not None:
        restarts_cell: Any = f"{restarts} ({human_duration((now - last).total_seconds())} ago)"
    else:
        restarts_cell = str(restarts)
    ips = status.get("podIPs") or ()
    return [
        table.name(pod),
        f"{ready}/{total}",
        reason,
        restarts_cell,
        table.created(pod, now),
        (ips[0].get("ip") if ips else "") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _gates(spec, status),
    ]


def _progress(spec: Object, status: Object, sidecars: set[Any]) -> tuple[int, int, datetime | None, str]:
    """(ready containers, restarts, when the last one was, what to show as status)."""
    reason = _gated(status) or status.get("reason") or status.get("phase", "")
    init = status.get("initContainerStatuses") or ()
    started_sidecars = [c for c in init if c.get("name") in sidecars and c.get("started")]
    ready = sum(bool(c.get("ready")) for c in started_sidecars)
    failing = _first_unfinished(spec, init, sidecars)
    restarts = sum(c.get("restartCount", 0) for c in init)
    last = _last_restart(init)
    if failing is not None:
        return ready, restarts, last, failing
    restarts = sum(c.get("restartCount", 0) for c in init if c.get("name") in sidecars)
    last = _last_restart(c for c in init if c.get("name") in sidecars)
    running = False
    regular = status.get("containerStatuses") or ()
    for container in reversed(regular):
        restarts += container.get("restartCount", 0)
        said = _said(container)
        if said:
            reason = said
        elif container.get("ready") and (container.get("state") or {}).get("running") is not None:
            running = True
            ready += 1
    last = max(filter(None, (last, _last_restart(regular))), default=None)
    if reason == "Completed" and running:
        conditions = {c.get("type"): c.get("status") for c in status.get("conditions") or ()}
        reason = "Running" if conditions.get("Ready") == "True" else "NotReady"
    return ready, restarts, last, reason


def _gated(status: Object) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return ""


def _said(container: Object) -> str:
    """What a container's state says that is worth showing; "" for a running one."""
    state = container.get("state") or {}
    waiting, ended = state.get("waiting"), state.get("terminated")
    if waiting and waiting.get("reason"):
        return str(waiting["reason"])
    if ended is None:
        return ""
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _first_unfinished(spec: Object, statuses: Iterable[Object], sidecars: set[Any]) -> str | None:
    """``Init:...`` for the first init container that still has to do something; None when all are done."""
    for i, container in enumerate(statuses):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and not ended.get("exitCode"):
            continue
        if container.get("name") in sidecars and container.get("started"):
            continue
        if ended is not None:
            return f"Init:{_said(container)}"
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{i}/{len(spec.get('initContainers') or ())}"
    return None


def _last_restart(statuses: Iterable[Object]) -> datetime | None:
    times = [((c.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for c in statuses]
    return max((parse_time(t) for t in times if t), default=None)


def _gates(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return "<none>"
    conditions = {c.get("type"): c.get("status") for c in status.get("conditions") or ()}
    return f"{sum(conditions.get(g.get('conditionType')) == 'True' for g in gates)}/{len(gates)}"
