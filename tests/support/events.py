"""The Events that there are."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver.controllers.actions import Actions
from apiserver.controllers.recorder import EVENTS
from apiserver.kinds.common.eventforms import to_core
from apiserver.meta.objects import Object
from tests.support.definitionworker import Worker


async def events(worker: Worker) -> Sequence[Object]:
    """Of all namespaces, as core/v1 has them, without what managers own."""
    found = []
    async for record in Actions(worker.registry).each(worker.tenant.id, EVENTS):
        event = to_core(orjson.loads(record.data))
        event["metadata"].pop("managedFields", None)
        found.append(event)
    return found


async def reasons(worker: Worker) -> Sequence[tuple[str, str, str, str]]:
    """(kind and name of the object, type, reason, message), in order."""
    return sorted(
        (
            f"{event['involvedObject']['kind']}/{event['involvedObject']['name']}",
            event["type"],
            event["reason"],
            event["message"],
        )
        for event in await events(worker)
    )
