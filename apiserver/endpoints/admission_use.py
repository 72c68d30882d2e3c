"""What a tenant's admission policies and webhooks have been used for, out of what its workers have
counted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from admission.policy.observer import DENY, NO_ERROR
from apiserver.endpoints import last_errors, policy_metrics, webhook_metrics
from apiserver.endpoints.metric_types import Snapshot
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time

POLICIES = {policy_metrics.resource_of(kind): kind for kind in ("validating", "mutating")}
WEBHOOKS = {
    webhook_metrics.CONFIGURATIONS["validating"]: "validating",
    webhook_metrics.CONFIGURATIONS["admit"]: "mutating",
}
"""Resources and what they do."""

_Key = tuple[str, ...]


class Use:
    """Of policies (resource, policy, binding) and webhooks (resource, name), added up."""

    def __init__(self, snapshots: Iterable[Snapshot]) -> None:
        self._counts: dict[_Key, dict[str, float]] = {}
        self._errors: dict[_Key, tuple[float, str]] = {}
        for snapshot in snapshots:
            for resource, kind in POLICIES.items():
                for labels, cells in snapshot.get(policy_metrics.name_of(kind), ()):
                    self._policy(resource, labels, cells)
            for labels, cells in snapshot.get(webhook_metrics.DURATIONS, ()):
                self._called(labels, cells)
            for labels, count in snapshot.get(webhook_metrics.FAILED_OPEN, ()):
                self._add(_webhook(labels), failures=count)
            for labels, count in snapshot.get(webhook_metrics.REJECTIONS, ()):
                failures = 0 if labels[3] == webhook_metrics.DENIED else count
                self._add(_webhook(labels), failures=failures)
            for whose, (at, text) in snapshot.get(last_errors.NAME, ()):
                self._failed(tuple(whose), at, text)

    def of(self, resource: str, *, texts: bool) -> list[Object]:
        """By name. resource: of policies or webhooks; texts: with the texts of errors."""
        keys = sorted({key for key in (*self._counts, *self._errors) if key[0] == resource})
        return [self._row(key, texts) for key in keys if key[1]]

    def _row(self, key: _Key, texts: bool) -> Object:
        counts = self._counts.get(key, {})
        calls = counts.pop("calls", 0)
        seconds = counts.pop("seconds", 0.0)
        names = ("policy", "binding") if key[0] in POLICIES else ("name",)
        row: Object = {"type": (POLICIES | WEBHOOKS)[key[0]]}
        row |= dict(zip(names, key[1:], strict=True))
        row |= {"evaluations": int(calls), **{n: int(count) for n, count in counts.items()}}
        row["meanSeconds"] = round(seconds / calls, 9) if calls else 0.0
        if key in self._errors:
            at, text = self._errors[key]
            row["lastErrorTime"] = format_time(datetime.fromtimestamp(at, UTC))
            if texts:
                row["lastError"] = text
        return {name: value for name, value in row.items() if value or name == "evaluations"}

    # --- adding up --------------------------------------------------------------------------------
    def _policy(self, resource: str, labels: Sequence[str], cells: Sequence[float]) -> None:
        policy, binding, error, action = labels
        calls = sum(cells[:-1])
        self._add(
            (resource, policy, binding),
            calls=calls,
            seconds=cells[-1],
            refusals=calls if action == DENY else 0,
            warnings=calls if action == "warn" else 0,
            audited=calls if action == "audit" else 0,
            failures=calls if error != NO_ERROR else 0,
        )

    def _called(self, labels: Sequence[str], cells: Sequence[float]) -> None:
        calls = sum(cells[:-1])
        refusals = calls if labels[3] == "true" else 0
        self._add(_webhook(labels), calls=calls, seconds=cells[-1], refusals=refusals)

    def _add(self, key: _Key, **more: float) -> None:
        counts = self._counts.setdefault(key, {})
        for name, count in more.items():
            counts[name] = counts.get(name, 0) + count

    def _failed(self, key: _Key, at: float, text: Any) -> None:
        if key not in self._errors or self._errors[key][0] < at:
            self._errors[key] = at, str(text)


def _webhook(labels: Sequence[str]) -> _Key:
    """Of labels that begin with the webhook's name and its step."""
    return webhook_metrics.CONFIGURATIONS[labels[1]], labels[0]
