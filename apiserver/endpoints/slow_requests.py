"""The requests that took longest lately, one by one, as far as this process lives: for operators,
beside the sums that metrics have.

Requests that last as long as their client likes are not slow (k8s.io/apiserver
``server/filters/longrunning.go``, with what kube-apiserver gives it). What is kept is bounded: the
slowest of each of the last `_SLOTS` times of `_SLOT` seconds, and of no text more than a part.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any
from urllib.parse import quote

from apiserver.audit.trail import cut, kept_audit_id
from apiserver.endpoints.metric_types import Labels
from apiserver.endpoints.request import ApiRequest, raw_path
from apiserver.user import User

NAME = "=polyplane_slow_requests"
"""In a `Snapshot`: with "=" at its beginning, since it goes with its worker."""
MOST = 20
LATELY = 3600.0
"""Seconds."""
_SLOT = 300
_SLOTS = int(LATELY // _SLOT) + 1
_LONGEST = 300
"""Characters of a path with its query, and of a name."""
_SWITCHED = 101
_HIDDEN = "…"
_HARMLESS = frozenset(
    {"allowWatchBookmarks", "dryRun", "fieldManager", "fieldValidation", "force", "follow"}
    | {"gracePeriodSeconds", "includeObject", "labelSelector", "limit", "orphanDependents"}
    | {"pretty", "propagationPolicy", "resourceVersion", "resourceVersionMatch"}
    | {"sendInitialEvents", "sortBy", "timeout", "timeoutSeconds", "watch"}
)
"""Parameters that are shown as they are: they say what is asked of the server."""
_SECRETIVE = frozenset({"continue", "fieldSelector", "filter"})
"""Those of which only the name is: their values may be a Secret's. What a client has invented is
not shown at all, for it may be a token."""

_Found = tuple[float, int, float, Labels]
"""Seconds that it took, a number that no other has, when it came, and what it was."""


class SlowRequests:
    """clock: seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._numbers = count()
        self._slots: dict[int, list[_Found]] = {}

    def answered(self, request: ApiRequest, code: int, seconds: float) -> None:
        """``seconds``: how long it took."""
        number = int((request.received + seconds) // _SLOT)
        slot = self._slots.get(number)
        if slot is None:
            slot = self._begin(number)
        elif len(slot) >= MOST and seconds <= slot[0][0]:
            return
        if request.info.lasts or code == _SWITCHED:
            return
        found = seconds, next(self._numbers), request.received, _described(request, code)
        if len(slot) < MOST:
            heapq.heappush(slot, found)
        else:
            heapq.heapreplace(slot, found)

    def _begin(self, number: int) -> list[_Found]:
        """A slot, in the place of the one that was begun first."""
        slot = self._slots[number] = []
        if len(self._slots) > _SLOTS:
            del self._slots[next(iter(self._slots))]
        return slot

    def cells(self) -> list[tuple[Sequence[str], Any]]:
        """(what it was, (seconds since 1970 when it came, seconds that it took)): as JSON, a part
        of a `Snapshot`. what: audit id, verb, path, user, as whom he acted or "", tenant, code."""
        since = self._clock() - LATELY
        lately = [
            found for slot in self._slots.values() for found in slot if found[2] + found[0] >= since
        ]
        return [(what, (came, took)) for took, _, came, what in heapq.nlargest(MOST, lately)]


def _described(request: ApiRequest, code: int) -> Labels:
    sender: User | None = request.sender
    acting: User | None = request.__dict__.get("user", sender)  # not set before it is settled
    return (
        kept_audit_id(request.audit_id),
        cut(request.info.verb, _LONGEST),
        cut(raw_path(request.scope) + _shown(request.query), _LONGEST),
        _name(sender),
        _name(acting) if acting is not sender else "",
        cut(request.tenant.name or request.meant.name, _LONGEST),
        str(code),
    )


def _name(user: User | None) -> str:
    return cut(user.name, _LONGEST) if user is not None else ""


def _shown(query: Mapping[str, Sequence[str]]) -> str:
    """What stands behind a path, without the values that nobody is to read there."""
    known = _HARMLESS | _SECRETIVE
    pairs = [
        f"{name}={quote(value) if name in _HARMLESS else _HIDDEN}"
        for name, values in query.items()
        if name in known
        for value in values
    ]
    if not query.keys() <= known:
        pairs.append(_HIDDEN)
    return f"?{'&'.join(pairs)}" if pairs else ""
