"""Probes and lifecycle hooks of a container, and the handlers that both share."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.fielderrors import FieldPath, forbidden, invalid, required
from apiserver.kinds.common import checks
from apiserver.meta import names
from apiserver.meta.objects import ReadOnlyObject

_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")


def all_of(container: ReadOnlyObject, path: FieldPath, grace: int | None) -> checks.Errors:
    """Lifecycle and the three probes of a container that may have them; ``grace``: the pod's
    terminationGracePeriodSeconds."""
    lifecycle = container.get("lifecycle")
    if lifecycle is not None:
        for hook in ("postStart", "preStop"):
            if lifecycle.get(hook) is not None:
                yield from _handler(
                    lifecycle[hook], path.child("lifecycle", hook), _HOOK_HANDLERS, grace
                )
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            yield from _probe(name, container[name], path.child(name), grace)


def _probe(name: str, probe: ReadOnlyObject, path: FieldPath, grace: int | None) -> checks.Errors:
    yield from _handler(probe, path, _PROBE_HANDLERS, grace)
    yield from checks.non_negatives(
        probe,
        path,
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    )
    own_grace = probe.get("terminationGracePeriodSeconds")
    at = path.child("terminationGracePeriodSeconds")
    if own_grace is not None and own_grace <= 0:
        yield invalid(at, own_grace, "must be greater than 0")
    if name == "readinessProbe":
        if own_grace is not None:
            yield invalid(at, own_grace, "must not be set for readinessProbes")
    elif probe.get("successThreshold", 0) != 1:
        yield invalid(path.child("successThreshold"), probe.get("successThreshold", 0), "must be 1")


def _handler(
    handler: ReadOnlyObject, path: FieldPath, kinds: Sequence[str], grace: int | None
) -> checks.Errors:
    handlers = [kind for kind in kinds if handler.get(kind) is not None]
    if not handlers:
        yield required(path, "must specify a handler type")
        return
    yield from _action(handlers[0], handler[handlers[0]], path.child(handlers[0]), grace)
    for kind in handlers[1:]:
        yield forbidden(path.child(kind), "may not specify more than 1 handler type")


def _action(kind: str, action: ReadOnlyObject, path: FieldPath, grace: int | None) -> checks.Errors:
    match kind:
        case "exec":
            if not action.get("command"):
                yield required(path.child("command"))
        case "httpGet":
            if not action.get("path"):
                yield required(path.child("path"))
            yield from checks.port(action.get("port", 0), path.child("port"))
            yield from checks.one_of(
                action.get("scheme", ""), path.child("scheme"), ("HTTP", "HTTPS"), empty=True
            )
            for header in action.get("httpHeaders") or ():
                yield from checks.rule(
                    header.get("name", ""), path.child("httpHeaders"), names.http_header_name
                )
        case "sleep":
            seconds = action.get("seconds", 0)
            if grace is not None and not 0 <= seconds <= grace:
                yield invalid(
                    path,
                    seconds,
                    f"must be non-negative and less than terminationGracePeriodSeconds ({grace})",
                )
        case _:
            yield from checks.port(action.get("port", 0), path.child("port"))
