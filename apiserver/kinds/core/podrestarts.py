"""Whether a container that has ended may run again, by its pod's restartPolicy, its own, and its
rules (KEP-5307, KEP-5532)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.fielderrors import FieldError, FieldPath, forbidden
from apiserver.kinds.common import checks
from apiserver.meta.objects import Object

_LISTS = (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers"))
_EPHEMERAL = "ephemeralContainerStatuses"


def stay_terminated(status: Object, before: Object, spec: Object, path: FieldPath) -> checks.Errors:
    """Containers that have ended for good do not leave the state terminated."""
    if not _may_restart_all(spec):
        for field, members in _LISTS:
            containers = {c.get("name"): c for c in reversed(spec.get(members) or ())}
            running = _running(status.get(field) or ())
            for i, name, code in _terminated(before.get(field) or ()):
                container = containers.get(name)
                if name in running and (container is None or not _restarts(container, spec, code)):
                    yield _refused(path.child(field).at(i))
    yield from checks.few(
        _ephemeral(
            status.get(_EPHEMERAL) or (), before.get(_EPHEMERAL) or (), path.child(_EPHEMERAL)
        )
    )


def _ephemeral(
    new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]], path: FieldPath
) -> checks.Errors:
    """They never run again."""
    running = _running(new)
    for i, name, _ in _terminated(old):
        for _ in range(running.get(name, 0)):
            yield _refused(path.at(i))


def _refused(path: FieldPath) -> FieldError:
    return forbidden(path.child("state"), "may not be transitioned to non-terminated state")


def _running(statuses: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How often each name stands there without having ended."""
    counts: dict[str, int] = {}
    for status in statuses:
        if (status.get("state") or {}).get("terminated") is None:
            counts[status.get("name", "")] = counts.get(status.get("name", ""), 0) + 1
    return counts


def _terminated(statuses: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, int]]:
    """(index, name, exit code) of those that have ended."""
    return [
        (i, status.get("name", ""), status["state"]["terminated"].get("exitCode", 0))
        for i, status in enumerate(statuses)
        if (status.get("state") or {}).get("terminated") is not None
    ]


def _may_restart_all(spec: Object) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for _, members in _LISTS
        for container in spec.get(members) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _restarts(container: Mapping[str, Any], spec: Object, code: int) -> bool:
    policy = container.get("restartPolicy")
    if policy is not None and any(
        _matches(rule, code) and rule.get("action") == "Restart"
        for rule in container.get("restartPolicyRules") or ()
    ):
        return True
    if policy not in ("Always", "OnFailure", "Never"):
        policy = spec.get("restartPolicy")
    return {"OnFailure": code != 0, "Never": False}.get(policy or "", True)


def _matches(rule: Mapping[str, Any], code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    listed = code in (codes.get("values") or ())
    return {"In": listed, "NotIn": not listed}.get(codes.get("operator", ""), False)
