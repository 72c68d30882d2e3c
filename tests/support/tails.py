"""Tail readers that trust nothing: they follow ``events`` with a query of their own, and what they
saw is judged afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import psycopg

_NEXT = (
    "SELECT resource_version, previous FROM events WHERE tenant_id = %s AND "
    "resource_version > %s ORDER BY resource_version"
)
_ALL = (
    "SELECT resource_version, type, name FROM events WHERE tenant_id = %s ORDER BY resource_version"
)
_TYPES = {"A": "ADDED", "M": "MODIFIED", "D": "DELETED"}


@dataclass
class Verdict:
    """Counts over all tenants. broken: events that do not name their predecessor; unacknowledged:
    writers were told of a version whose event is not there, or is of another change."""

    events: int = 0
    missed: int = 0
    reordered: int = 0
    doubled: int = 0
    broken: int = 0
    unacknowledged: int = 0

    @property
    def clean(self) -> bool:
        return not (
            self.missed or self.reordered or self.doubled or self.broken or self.unacknowledged
        )


async def follow(conninfo: str, tenant: int, stop: asyncio.Event) -> list[tuple[int, int]]:
    """(version, previous) of all events as they became visible, in the order in which a reader of
    ``rv > last`` got them."""
    seen: list[tuple[int, int]] = []
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        while True:
            ending = stop.is_set()
            rows = await (
                await connection.execute(_NEXT, [tenant, seen[-1][0] if seen else 0])
            ).fetchall()
            seen += [(int(version), int(previous)) for version, previous in rows]
            if ending and not rows:
                return seen
            await asyncio.sleep(0.001)


async def judge(
    conninfo: str,
    tenant: int,
    start: int,
    seen: list[tuple[int, int]],
    acknowledged: list[Any],
    verdict: Verdict,
) -> None:
    """Compares what a tail saw with the log as it is in the end and with what writers were told."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        rows = await (await connection.execute(_ALL, [tenant])).fetchall()
    log = {version: [version, _TYPES[kind], name] for version, kind, name in rows}
    versions = [version for version, _ in seen]
    verdict.events += len(versions)
    verdict.missed += len(set(log) - set(versions))
    verdict.doubled += (
        len(versions)
        - len(set(versions))
        + len(acknowledged)
        - len({entry[0] for entry in acknowledged})
    )
    verdict.reordered += sum(a >= b for a, b in pairwise(versions))
    before = [start, *versions]
    verdict.broken += sum(
        previous != expected for (_, previous), expected in zip(seen, before, strict=False)
    )
    verdict.unacknowledged += sum(log.get(entry[0]) != entry for entry in acknowledged)
