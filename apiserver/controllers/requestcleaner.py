"""CertificateSigningRequests go when nobody needs them any more (kubernetes
``pkg/controller/certificates/cleaner``)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import orjson

from admission.plugins.certificates import REQUESTS
from apiserver.controllers import names
from apiserver.controllers.actions import Actions, Item
from apiserver.controllers.upkeep import Unchanged
from apiserver.errors import ApiError
from apiserver.golang.time import TimeError
from apiserver.kinds.certificates.requests import expiry
from apiserver.meta.objects import Object
from apiserver.meta.times import now, parse_time
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Event
from apiserver.storage.relations import Relations

log = logging.getLogger("polyplane.controllers")

DECIDED, PENDING = timedelta(hours=1), timedelta(hours=24)
"""After approval with a certificate, denial or failure; without, or without an answer."""
EVERY, AGAIN = 3600.0, 60.0
_MOST = 200
_ALL = "all"


class RequestCleaner:
    """Looks at all requests of a tenant together, once an hour at least as long as there are
    some."""

    controller = names.REQUEST_CLEANING
    resources = frozenset({REQUESTS})

    def __init__(self, actions: Actions, relations: Relations) -> None:
        self._actions, self._unchanged = actions, Unchanged(relations, REQUESTS)

    def concerned(self, event: Event) -> tuple[str, float] | None:
        return (_ALL, EVERY) if event.type != "DELETED" else None

    async def look(self, tenant: Tenant, name: str) -> float | None:
        moment, pauses, gone = now(), list[float](), 0
        async for record in self._actions.each(tenant.id, REQUESTS):
            request = orjson.loads(record.data)
            when = due(request)
            left = EVERY if when is None else (when - moment).total_seconds()
            if left > 0:
                pauses.append(min(left, EVERY))
                continue
            if gone == _MOST:
                return 0.0
            gone += 1
            item = Item(record.key, record.uid, record.resource_version, request["metadata"])
            try:
                await self._actions.delete_judged(tenant, item, "Background")
            except ApiError as e:  # it has changed, or somebody minds: the others have their turn
                log.info("certificate request %s stays: %s", record.key.name, e)
                pauses.append(AGAIN)
        return min(pauses, default=None)

    async def missed(self, tenant: int) -> Sequence[str]:
        return [] if await self._unchanged.since_last(tenant) else [_ALL]


def due(request: Object) -> datetime | None:
    """When the request goes; None as long as nobody can say."""
    return min(_ends(request), default=None)


def _ends(request: Object) -> Iterator[datetime]:
    status = request.get("status") or {}
    conditions, certificate = status.get("conditions") or [], status.get("certificate")
    if not conditions and (created := _time(request["metadata"].get("creationTimestamp"))):
        yield created + PENDING
    for condition in conditions:
        kind, updated = condition.get("type"), _time(condition.get("lastUpdateTime"))
        approved = kind == "Approved"
        if approved and certificate and (end := expiry(certificate)) is not None:
            yield end
        if updated is not None and (kind in ("Denied", "Failed") or approved):
            yield updated + (PENDING if approved and not certificate else DECIDED)


def _time(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except TimeError:
        return None
