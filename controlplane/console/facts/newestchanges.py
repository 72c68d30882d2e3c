"""What was written lately, for the overview: each change of people and programs, and those that the
server made by itself (what a new tenant begins with, what a garbage collection takes along) folded
to one row for each tenant, user and verb."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from apiserver.storage.models import AuditEntry
from controlplane.console.facts.asking import Answer
from controlplane.console.facts.auditpages import OWN, by_people, described

_MOST = 20  # rows of people and programs, or of all
_MOST_FOLDED = 10  # rows
_LOOKED_AT = 1000  # changes of the server's own


def newest(changes: QuerySet[AuditEntry], names: dict[int, str], *, all_: bool) -> list[Answer]:
    """Newest first. changes: those of some time, in that order; names: of the tenants by their
    numbers; ``all_``: each by itself, with those that `by_people` leaves out. A row that stands for
    several is the newest of them, with their ``count``; there may be more where ``more`` is
    true."""
    if all_:
        return [_row(row, names) for row in changes[:_MOST]]
    shown = by_people(changes)
    rows = [_row(row, names) for row in shown.exclude(OWN)[:_MOST]]
    return sorted(rows + _folded(shown, names), key=lambda row: row["at"], reverse=True)


def _folded(shown: QuerySet[AuditEntry], names: dict[int, str]) -> list[Answer]:
    own = list(shown.filter(OWN).values_list("pk", "tenant_id", "user_name", "verb")[:_LOOKED_AT])
    first: dict[tuple[object, ...], UUID] = {}
    counts: dict[UUID, int] = {}
    for key, *alike in own:
        key = first.setdefault(tuple(alike), key)
        counts[key] = counts.get(key, 0) + 1
    newest_ones = list(counts)[:_MOST_FOLDED]
    more = len(own) == _LOOKED_AT
    return [
        _row(row, names) | {"count": counts[row.pk], "more": more}
        for row in shown.filter(pk__in=newest_ones)
    ]


def _row(row: AuditEntry, names: dict[int, str]) -> Answer:
    return {**described(row, names), "event": None}
