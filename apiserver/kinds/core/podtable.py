"""The table row of a pod: how far its containers are (k8s.io/kubernetes
``printers/internalversion``, printPod)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from apiserver.kinds.common import table
from apiserver.meta.objects import ReadOnlyObject
from apiserver.meta.times import human_duration, parse_time

_ENDS = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def conditions(pod: ReadOnlyObject) -> list[dict[str, Any]]:
    """Of the row: whether the pod has come to its end."""
    phase = (pod.get("status") or {}).get("phase", "")
    message = _ENDS.get(phase)
    return (
        [{"type": "Completed", "status": "True", "reason": phase, "message": message}]
        if message
        else []
    )


def cells(pod: ReadOnlyObject, now: datetime) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = {
        c.get("name")
        for c in spec.get("initContainers") or ()
        if c.get("restartPolicy") == "Always"
    }
    total = len(spec.get("containers") or ()) + len(sidecars)
    ready, restarts, last, reason = _progress(spec, status, sidecars)
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in _ENDS:
            reason = "Terminating"
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


def _progress(
    spec: ReadOnlyObject, status: ReadOnlyObject, sidecars: set[Any]
) -> tuple[int, int, datetime | None, str]:
    """(ready containers, restarts, when the last one was, what to show as status)."""
    reason = _gated(status) or status.get("reason") or status.get("phase", "")
    seen, failing = _initialized(spec, status.get("initContainerStatuses") or (), sidecars)
    side = [c for c in seen if c.get("name") in sidecars]
    ready = sum(bool(c.get("ready")) for c in side if c.get("started") and not _succeeded(c))
    reason = failing or reason
    if failing and not _is_true(status, "Initialized"):
        return ready, sum(c.get("restartCount", 0) for c in seen), _last_restart(seen), reason
    running, failure = False, ""
    regular = status.get("containerStatuses") or ()
    for container in reversed(regular):
        said = _said(container)
        if said:
            reason = said
            failure = said if _failed(container) else failure
        elif container.get("ready") and (container.get("state") or {}).get("running") is not None:
            running = True
            ready += 1
    counted = [*side, *regular]
    if reason == "Completed":
        reason = _completed(status, running, failure)
    return ready, sum(c.get("restartCount", 0) for c in counted), _last_restart(counted), reason


def _completed(status: ReadOnlyObject, running: bool, failure: str) -> str:
    """What a pod is whose first container has completed, by the others: ``failure`` is what the
    first of those says that ended with an error."""
    if running and _is_true(status, "Ready"):
        return "Running"
    return failure or ("NotReady" if running else "Completed")


def _is_true(status: ReadOnlyObject, condition: str) -> bool:
    return any(
        c.get("type") == condition and c.get("status") == "True"
        for c in status.get("conditions") or ()
    )


def _gated(status: ReadOnlyObject) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return ""


def _said(container: ReadOnlyObject) -> str:
    """What a container's state says that is worth showing; "" for a running one."""
    state = container.get("state") or {}
    waiting, ended = state.get("waiting"), state.get("terminated")
    if waiting and waiting.get("reason"):
        return str(waiting["reason"])
    if ended is None:
        return ""
    if ended.get("reason"):
        return str(ended["reason"])
    return (
        f"Signal:{ended['signal']}"
        if ended.get("signal")
        else f"ExitCode:{ended.get('exitCode', 0)}"
    )


def _failed(container: ReadOnlyObject) -> bool:
    state = container.get("state") or {}
    waits = (state.get("waiting") or {}).get("reason")
    return not waits and bool((state.get("terminated") or {}).get("exitCode"))


def _succeeded(container: ReadOnlyObject) -> bool:
    ended = (container.get("state") or {}).get("terminated")
    return ended is not None and not ended.get("exitCode")


def _initialized(
    spec: ReadOnlyObject, statuses: Iterable[ReadOnlyObject], sidecars: set[Any]
) -> tuple[list[ReadOnlyObject], str]:
    """The init containers up to the first that still has to do something, and ``Init:...`` for that
    one; "" when all are done."""
    seen = []
    for i, container in enumerate(statuses):
        seen.append(container)
        if _succeeded(container) or (
            container.get("name") in sidecars and container.get("started")
        ):
            continue
        state = container.get("state") or {}
        waiting = state.get("waiting") or {}
        if state.get("terminated") is not None:
            return seen, f"Init:{_said({'state': {'terminated': state['terminated']}})}"
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return seen, f"Init:{waiting['reason']}"
        return seen, f"Init:{i}/{len(spec.get('initContainers') or ())}"
    return seen, ""


def _last_restart(statuses: Iterable[ReadOnlyObject]) -> datetime | None:
    times = [
        ((c.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for c in statuses
    ]
    return max((parse_time(t) for t in times if t), default=None)


def _gates(spec: ReadOnlyObject, status: ReadOnlyObject) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return "<none>"
    conditions = {c.get("type"): c.get("status") for c in status.get("conditions") or ()}
    return f"{sum(conditions.get(g.get('conditionType')) == 'True' for g in gates)}/{len(gates)}"
