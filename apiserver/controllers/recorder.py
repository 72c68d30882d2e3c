"""Events by which controllers tell of objects (client-go ``tools/record``).

The same event twice is one Event with a count, whichever process saw it: its name is made of what
it says. It is written beside what is told of, which neither waits for that nor fails with it.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from functools import partial

import orjson

from apiserver.controllers.actions import Actions
from apiserver.controllers.correlation import Correlator, Regarding, Said, Telling
from apiserver.meta.gvk import GroupResource
from apiserver.meta.names import dns1123_subdomain
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.times import format_time, now
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey, Record

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

    def record(self, tenant: Tenant, regarding: Regarding, said: Said) -> None:
        """Returns at once."""
        telling = self._correlator.correlate(tenant.id, self._source, regarding, said)
        if telling is None:
            return
        name = _name(regarding.name, telling)
        key = ObjectKey(*EVENTS, regarding.namespace or _DEFAULT, name)
        moment, message = format_time(now()), _cut(telling.message)
        event = self._event(key, regarding, said._replace(message=message), moment)
        what = f"an event about {regarding.name}"
        self._actions.beside.add(tenant.id, what, partial(self._write, tenant, key, event))

    async def _write(self, tenant: Tenant, key: ObjectKey, event: Object) -> None:
        if not await self._actions.ensure(tenant, key, copy_json(event)):
            await self._actions.change(tenant, key, _again(event))

    def _event(self, key: ObjectKey, regarding: Regarding, said: Said, moment: str) -> Object:
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
            "message": said.message,
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


def _again(said: Object) -> Callable[[Object], bool]:
    def edit(event: Object) -> bool:
        event["count"] = (event.get("count") or 0) + 1
        event["lastTimestamp"], event["message"] = said["lastTimestamp"], said["message"]
        return True

    return edit


def _cut(message: str) -> str:
    return message.encode()[:_LONGEST].decode(errors="ignore")


def _name(of: str, telling: Telling) -> str:
    digest = hashlib.sha256(orjson.dumps(telling.identity)).digest()
    name = f"{of}.{digest[:8].hex()}"
    return str(uuid.UUID(bytes=digest[:16], version=4)) if dns1123_subdomain(name) else name
