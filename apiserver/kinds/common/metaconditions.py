"""``metav1.Condition``: what is valid, and which one holds (k8s.io/apimachinery
``apis/meta/v1/validation`` ValidateConditions, ``api/meta`` FindStatusCondition)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from apiserver.fielderrors import (
    FieldPath,
    GoSyntax,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.internal import quoted
from apiserver.meta.names import regex_error
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.meta.times import format_time

_STATUSES = ("False", "True", "Unknown")
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_TEXT = (
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
)
_REASON_COMPLAINT = regex_error(
    _REASON_TEXT, _REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"
)
_LONGEST_REASON, _LONGEST_MESSAGE = 1024, 32 * 1024
_MEMBERS = ("type", "status", "observedGeneration", "lastTransitionTime", "reason", "message")


def conditions_of(obj: ReadOnlyObject) -> Sequence[Object]:
    return (obj.get("status") or {}).get("conditions") or []


def state_of(obj: ReadOnlyObject, kind: str) -> str | None:
    """Of a condition of the object's status: True, False or Unknown; None where it is not there."""
    return next((x.get("status", "") for x in conditions_of(obj) if x.get("type") == kind), None)


def holds(obj: ReadOnlyObject, kind: str) -> bool:
    """Whether the object's status has the condition, and it is True."""
    return state_of(obj, kind) == "True"


def condition(kind: str, status: str, reason: str, message: str, now: datetime) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": format_time(now),
        "reason": reason,
        "message": message,
    }


def put(
    status: Object, kind: str, state: str, reason: str, message: str = "", *, now: datetime
) -> None:
    """Writes the condition into the status, in place of the one of that kind, for the generation
    that the status tells of; its lastTransitionTime stays where the state does
    (SetStatusCondition)."""
    conditions = status.get("conditions") or []
    place = next((i for i, x in enumerate(conditions) if x.get("type") == kind), len(conditions))
    before = conditions[place] if place < len(conditions) else {}
    put_in = condition(kind, state, reason, message, now)
    if before.get("status") == state and before.get("lastTransitionTime"):
        put_in["lastTransitionTime"] = before["lastTransitionTime"]
    if observed := status.get("observedGeneration"):
        put_in["observedGeneration"] = observed
    status["conditions"] = [*conditions[:place], put_in, *conditions[place + 1 :]]


def quoted_list(conditions: Sequence[Object]) -> GoSyntax:
    """The list as a message quotes it."""
    if not conditions:
        return quoted(None)
    return quoted([{m: x.get(m) for m in _MEMBERS if m in x or m[0] != "o"} for x in conditions])


def validate(conditions: Sequence[Object], path: FieldPath) -> c.Errors:
    seen: set[str] = set()
    for i, entry in enumerate(conditions):
        kind = entry.get("type", "")
        if kind in seen:
            yield duplicate(path.at(i).child("type"), kind)
        seen.add(kind)
        yield from _one(entry, path.at(i))


def _one(entry: Object, path: FieldPath) -> c.Errors:
    yield from c.qualified_name(entry.get("type", ""), path.child("type"))
    if entry.get("status") not in _STATUSES:
        yield not_supported(path.child("status"), entry.get("status", ""), list(_STATUSES))
    observed = entry.get("observedGeneration", 0)
    if observed < 0:
        why = "must be greater than or equal to zero"
        yield invalid(path.child("observedGeneration"), observed, why)
    if entry.get("lastTransitionTime") is None:
        yield required(path.child("lastTransitionTime"))
    reason = entry.get("reason", "")
    if not reason:
        yield required(path.child("reason"))
    else:
        if not re.fullmatch(_REASON, reason):
            yield invalid(path.child("reason"), reason, _REASON_COMPLAINT)
        if len(reason.encode()) > _LONGEST_REASON:
            yield too_long(path.child("reason"), _LONGEST_REASON)
    if len(entry.get("message", "").encode()) > _LONGEST_MESSAGE:
        yield too_long(path.child("message"), _LONGEST_MESSAGE)
