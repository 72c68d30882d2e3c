"""Custom objects from one version to another: by their webhook, or by name only.

A webhook is asked for many objects at a time. What it made of an object that a watch cache holds is
kept beside that object, for each version, so that it is asked once however many read; readers that
want the same object at the same moment wait for one call. Its failure is the failure of whoever
asked: nothing is kept of it, and nobody else sees it. No lock is held while a webhook works, and
what takes time by the size of objects is done beside the event loop.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import orjson

from admission.attributes import Lookup
from admission.webhooks.client import WebhookClient
from admission.webhooks.errors import CallFailed
from apiserver.kinds.apiextensions.conversion import (
    ConversionError,
    ConversionFailed,
    converted_of,
    review_of,
)
from apiserver.kinds.served import ConversionWebhook, Resource
from apiserver.meta.objects import Object, copy_json, gvk_of
from apiserver.registry.offload import Asker, by_size
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import stored_api_version
from apiserver.watch.entry import Entry, Index

BATCH = 500
BATCH_BYTES = 1024 * 1024
"""What one call is sent at most, unless a single object is larger."""
AT_ONCE = 4
"""Calls that one reader makes at a time."""

MOST_GROWN = 64 * 1024
MOST_GROWTH = 4
"""Bytes that an answer may have, and for each byte of the question: what is converted stays in
memory beside what was stored, and a tenant's webhook must not be able to fill that memory with a
thousand times of what the tenant has stored."""

CALLS: dict[tuple[str, ...], float] = defaultdict(float)
"""Calls by (result, kind of failure), for metrics."""


class Converted(Entry):
    """An object in another version than its stored one, as readers of that version see it."""

    __slots__ = ()


class _Call(NamedTuple):
    """A conversion under way, in the memo of each entry that it is about. ids: of those entries."""

    task: asyncio.Task[None]
    ids: frozenset[int]

    def fails(self, ids: frozenset[int]) -> Exception | None:
        """Once it has ended: the error that a call about ``ids`` would meet, too."""
        error = None if self.task.cancelled() else self.task.exception()
        if isinstance(error, ConversionFailed):
            return error if error.unreachable or self.ids <= ids else None
        return error if isinstance(error, Exception) else None


class Converter:
    """One per process."""

    def __init__(self, client: WebhookClient, index: Index) -> None:
        self._client, self._index = client, index
        self._running: set[asyncio.Task[None]] = set()

    async def convert(
        self,
        tenant: Tenant,
        lookup: Lookup,
        resource: Resource,
        objects: Sequence[Object],
        version: str,
    ) -> list[Object]:
        """Copies of ``objects`` in the version, not yet fitted to its schema, by one call at most.
        Raises ConversionFailed."""
        api_version = resource.gvk(version).api_version
        webhook = resource.webhook
        todo = [
            obj
            for obj in objects
            if webhook is not None and obj["apiVersion"] != api_version and not _is_empty(obj)
        ]
        if webhook is None or not todo:
            return [resource.hooks.convert(copy_json(obj), version) for obj in objects]
        for obj in todo:
            resource.check_stored_version(obj["apiVersion"])
        converted = iter(await self._ask(tenant, lookup, webhook, todo, api_version))
        called = {id(obj) for obj in todo}
        return [
            next(converted)
            if id(obj) in called
            else resource.hooks.convert(copy_json(obj), version)
            for obj in objects
        ]

    async def _ask(
        self,
        tenant: Tenant,
        lookup: Lookup,
        webhook: ConversionWebhook,
        objects: Sequence[Object],
        api_version: str,
    ) -> list[Object]:
        uid = str(uuid.uuid4())
        try:
            body = review_of(webhook, objects, api_version, uid)
            answer = await self._client.post(tenant.id, webhook.config, body, lookup)
            if len(answer) > MOST_GROWN + MOST_GROWTH * len(body):
                raise CallFailed(
                    f"the converted objects are too large: {len(answer)} bytes for {len(body)}"
                )
            asker = Asker(tenant, len(answer))
            response = await by_size(
                asker, lambda: converted_of(webhook, objects, api_version, uid, answer)
            )
        except CallFailed as error:
            CALLS["failure", "conversion_webhook_call_failure"] += 1
            raise ConversionFailed(
                f"conversion webhook for {gvk_of(objects[0])} failed: {error}", unreachable=True
            ) from None
        except ConversionError as error:
            CALLS["failure", error.failure] += 1
            raise ConversionFailed(str(error)) from None
        CALLS["success", ""] += 1
        return response

    # --- entries of watch caches ------------------------------------------------------------------
    async def entries(
        self,
        tenant: Tenant,
        lookup: Lookup,
        resource: Resource,
        entries: Sequence[Entry],
        version: str,
    ) -> list[Entry]:
        """Each entry as Converted, or itself where it is stored in the version. Raises
        ConversionFailed."""
        key = (resource, version)
        api_version = resource.gvk(version).api_version
        todo = [entry for entry in entries if stored_api_version(entry.json) != api_version]
        ids = frozenset(map(id, todo))
        while True:
            mine = [entry for entry in todo if entry.memo is None or key not in entry.memo]
            batches = list(_batches(mine))
            for at in range(0, len(batches), AT_ONCE):
                calls = (
                    self._convert_batch(tenant, lookup, resource, batch, version)
                    for batch in batches[at : at + AT_ONCE]
                )
                await asyncio.gather(*calls)
            theirs = {
                pending
                for entry in todo
                if isinstance(pending := (entry.memo or {}).get(key), _Call)
            }
            if theirs:  # somebody else has asked for them, perhaps with one that fails them all
                await asyncio.wait([call.task for call in theirs])
                if error := next(filter(None, (call.fails(ids) for call in theirs)), None):
                    raise error
            elif not mine:
                break
        entries_of = {id(entry): entry.memo[key] for entry in todo if entry.memo is not None}
        return [entries_of.get(id(entry), entry) for entry in entries]

    async def _convert_batch(
        self,
        tenant: Tenant,
        lookup: Lookup,
        resource: Resource,
        batch: Sequence[Entry],
        version: str,
    ) -> None:
        """In a task of its own, so that it is finished for the others when whoever asked first goes
        away."""
        key = (resource, version)
        batch = [entry for entry in batch if entry.memo is None or key not in entry.memo]
        if not batch:
            return
        task = asyncio.create_task(self._fill(tenant, lookup, resource, batch, version))
        self._running.add(task)
        task.add_done_callback(self._ended)
        call = _Call(task, frozenset(map(id, batch)))
        for entry in batch:
            entry.memo = {**(entry.memo or {}), key: call}
        await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked may have gone

    async def _fill(
        self,
        tenant: Tenant,
        lookup: Lookup,
        resource: Resource,
        batch: Sequence[Entry],
        version: str,
    ) -> None:
        key = (resource, version)
        asker = Asker(tenant, sum(len(entry.json) for entry in batch))
        try:
            objects = await by_size(asker, lambda: [_bare(resource, entry) for entry in batch])
            answers = await self.convert(tenant, lookup, resource, objects, version)
            pairs = list(zip(batch, answers, strict=True))
            texts = await by_size(
                asker, lambda: [self._entry(resource, entry, obj, version) for entry, obj in pairs]
            )
        except BaseException:
            for entry in batch:
                assert entry.memo is not None, "set before the task began"
                del entry.memo[key]
            raise
        for entry, converted in zip(batch, texts, strict=True):
            assert entry.memo is not None, "set before the task began"
            entry.memo[key] = converted

    def _entry(self, resource: Resource, entry: Entry, obj: Object, version: str) -> Converted:
        resource.fit(obj, version)
        metadata = {"resourceVersion": str(entry.resource_version), **obj["metadata"]}
        first = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": metadata}
        text = orjson.dumps(
            first | {name: value for name, value in obj.items() if name not in first}
        )
        labels, fields = self._index(entry.resource, text)
        return Converted(
            entry.resource,
            entry.namespace,
            entry.name,
            entry.uid,
            entry.resource_version,
            text,
            labels,
            fields,
        )


def _bare(resource: Resource, entry: Entry) -> Object:
    """The stored object as a webhook is sent it: defaulted, without the version that only readers
    put in."""
    obj = entry.object()
    del obj["metadata"]["resourceVersion"]
    resource.decode_stored(obj)
    return obj


def _batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    at = size = 0
    for i, entry in enumerate(entries):
        size += len(entry.json)
        if i > at and (size > BATCH_BYTES or i - at >= BATCH):
            yield entries[at:i]
            at, size = i, len(entry.json)
    if entries:
        yield entries[at:]


def _is_empty(obj: Object) -> bool:
    """An object of which nothing is known but its type, as an object that is being created is
    before it has anything."""
    return obj.keys() <= {"kind", "apiVersion"}
