"""Events by which controllers tell of objects (client-go ``tools/record``).

The same event twice is one Event with a count, whichever process saw it: its name is made of what
it says. Telling is never worth a failure of what is told of.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Callable

import orjson

from apiserver.controllers.actions import Actions
from apiserver.controllers.correlation import Correlator, Regarding, Said, Telling
from apiserver.errors import ApiError
from apiserver.meta.gvk import GroupResource
from apiserver.meta.names import dns1123_subdomain
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time, now
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import ObjectKey, Record

log = logging.getLogger("polyplane.controllers")

EVENTS = GroupResource("", "events")
_DEFAULT = "default"
"""Where Events about what is in no namespace are."""
_LONGEST = 1024
"""Bytes of a message, as events.k8s.io/v1 has it."""


class Recorder:
    """source: the component that tells, as upstream calls it."""

    def __init__(self, actions: Actions, source: str) -> None:
        self._actions, self._source = actions, source
        self._correlator = Correlator()

    async def record(self, tenant: Tenant, regarding: Regarding, said: Said) -> None:
        telling = self._correlator.correlate(tenant.id, self._source, regarding, said)
        if telling is None:
            return
        name = _name(regarding.name, telling)
        key = ObjectKey(*EVENTS, regarding.namespace or _DEFAULT, name)
        try:
            event = self._event(key, regarding, said, telling.message)
            if not await self._actions.ensure(tenant, key, event):
                await self._actions.change(tenant, key, _again(telling.message))
        except (ApiError, StorageError) as e:
            log.info("an event about %s is not told: %s", regarding.name, e)

    def _event(self, key: ObjectKey, regarding: Regarding, said: Said, message: str) -> Object:
        moment = format_time(now())
        members = regarding._asdict()
        version = members.pop("resource_version")
        involved = {"apiVersion": members.pop("api_version"), **members}
        if version:
            involved["resourceVersion"] = version
        return {
            "metadata": {"name": key.name, "namespace": key.namespace},
            "involvedObject": {member: value for member, value in involved.items() if value},
            "type": said.type,
            "reason": said.reason,
            "message": _cut(message),
            "source": {"component": self._source},
            "reportingComponent": self._source,
            "reportingInstance": "",
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }


def regarding_of(api_version: str, kind: str, record: Record) -> Regarding:
    """The object as it is stored."""
    key, version = record.key, str(record.resource_version)
    return Regarding(api_version, kind, key.namespace, key.name, record.uid, version)


def _again(message: str) -> Callable[[Object], bool]:
    def edit(event: Object) -> bool:
        event["count"] = (event.get("count") or 0) + 1
        event["lastTimestamp"] = format_time(now())
        event["message"] = _cut(message)
        return True

    return edit


def _cut(message: str) -> str:
    return message.encode()[:_LONGEST].decode(errors="ignore")


def _name(of: str, telling: Telling) -> str:
    digest = hashlib.sha256(orjson.dumps(telling.identity)).digest()
    name = f"{of}.{digest[:8].hex()}"
    return str(uuid.UUID(bytes=digest[:16], version=4)) if dns1123_subdomain(name) else name
