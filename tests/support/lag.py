"""How much processor time a request takes from the event loop, and from the process: the guard
against slow answers (test_loop_lag.py).

Requests go into the ASGI entry of one process over a store in memory, with the admission and the
hooks of a real server. Time is that of the processor, so that a busy machine changes nothing: of
the thread that the loop runs in, and of all threads.
"""

from __future__ import annotations

import copy
import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from admission.chain import Chain
from admission.order import plugins_in_order
from admission.webhooks.call import Caller
from apiserver.codec import negotiate
from apiserver.kinds.apiextensions import conditions
from apiserver.kinds.served import Resource
from apiserver.meta.objects import Object
from apiserver.registry.authorizer import decide
from apiserver.registry.core import write_of
from apiserver.registry.definitionnames import DefinitionHook
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.provision import Provision
from apiserver.registry.quota import Quotas
from apiserver.registry.services import SERVICES, ServiceHook
from apiserver.storage.interface import ObjectKey, Write
from tests.support.api import Api, serving
from tests.support.bulk import Place, filled, value_at, with_value
from tests.support.definitions import definition, resource_of
from tests.support.memorystore import MemoryStore

NAMESPACE, NAME = "ns", "a"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PROTOBUF, CBOR = "application/vnd.kubernetes.protobuf", "application/cbor"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
LARGE = 64 * 1024
"""Bytes of a request up to which all its work may be done on the loop."""


class Cost(NamedTuple):
    """loop, total: seconds of processor time; size: bytes of the answer."""

    status: int
    loop: float
    total: float
    size: int


class Request(NamedTuple):
    """what: a name for reports."""

    what: str
    method: str
    path: str
    body: bytes = b""
    type: str = "application/json"
    accept: str = "application/json"


@asynccontextmanager
async def measured() -> AsyncIterator[Api]:
    store: Any = MemoryStore()
    async with serving(store, 1) as api:
        api.registry.chain = Chain(
            plugins_in_order(
                Quotas(store, api.registry.catalog),
                decide,
                Caller(api.registry.webhooks),
                Provision(),
            )
        )
        api.registry.hooks = {SERVICES: ServiceHook(), DEFINITIONS: DefinitionHook()}
        await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        await api.ok(
            "POST",
            f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
            {"metadata": {"name": "default"}},
        )
        yield api


async def cost(api: Api, request: Request) -> Cost:
    loop, total = time.thread_time(), time.process_time()
    status, answer = await api.raw(
        request.method, request.path, request.body, request.type, accept=request.accept
    )
    return Cost(status, time.thread_time() - loop, time.process_time() - total, len(answer))


# --- one kind -------------------------------------------------------------------------------------
class Target(NamedTuple):
    """A kind and an object of it that the server takes, without name and namespace."""

    resource: Resource
    version: str
    base: Object

    @property
    def collection(self) -> str:
        gv = self.resource.gvk(self.version).api_version
        root = f"/apis/{gv}" if "/" in gv else f"/api/{gv}"
        return (
            f"{root}/namespaces/{NAMESPACE}/{self.resource.resource}"
            if self.resource.namespaced
            else f"{root}/{self.resource.resource}"
        )

    def named(self) -> Object:
        obj = copy.deepcopy(self.base)
        obj["apiVersion"], obj["kind"] = (
            self.resource.gvk(self.version).api_version,
            self.resource.kind,
        )
        obj.setdefault("metadata", {}).setdefault("name", NAME)
        return obj

    @property
    def path(self) -> str:
        return f"{self.collection}/{quote(self.named()['metadata']['name'], safe='')}"


CUSTOM_SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "plain": {"type": "array", "items": {"type": "string"}},
                "set": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
                "byName": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name", "port"],
                    "items": {
                        "type": "object",
                        "required": ["name", "port"],
                        "properties": {
                            "name": {"type": "string"},
                            "port": {"type": "integer"},
                            "color": {
                                "type": "string",
                                "default": "green",
                                "enum": ["green", "red"],
                            },
                            "inner": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": {"name": {"type": "string"}},
                                },
                            },
                        },
                    },
                },
                "map": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "string",
                        "maxLength": 20,
                        "pattern": "^[a-z0-9]*$",
                    },
                },
                "maps": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "additionalProperties": {"type": "integer"},
                    },
                },
                "any": {
                    "type": "array",
                    "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            },
        }
    },
}
"""Lists and maps of all sorts. Rules in CEL have a guard of their own."""


def custom_target() -> Target:
    """Of the definition that `define` creates."""
    return Target(resource_of(definition(CUSTOM_SCHEMA)), "v1", {})


async def define(api: Api) -> Target:
    """Creates the definition and waits until it is served."""
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = await api.ok("POST", crds, definition(CUSTOM_SCHEMA))
    conditions.settle(made, [], NOW)
    await api.ok("PUT", f"{crds}/{made['metadata']['name']}/status", made)
    await api.until(lambda: api.catalog.find(api.tenant, "example.com", "foos"))
    found = api.catalog.find(api.tenant, "example.com", "foos")
    assert found is not None
    return Target(found, "v1", {})


def stored(api: Api, target: Target, obj: Object) -> Write:
    """The write that stores an object, valid or not, with an owner of its fields. Raises ValueError
    where it does not decode."""
    resource, served = target.resource, target.resource.versions[target.version]
    typed, _ = resource.decode(served, copy.deepcopy(obj))
    typed = api.registry.manager(resource).update(
        None, typed, "someone", api_version=obj["apiVersion"], subresource="", now=NOW
    )
    resource.settle(served, typed)
    metadata = typed["metadata"]
    metadata.update(
        uid="11111111-2222-3333-4444-555555555555", creationTimestamp="2026-01-02T03:00:00Z"
    )
    if resource.namespaced:
        metadata["namespace"] = NAMESPACE
    return write_of("create", _key(target), typed, api.registry.encode(resource, typed))


async def clear(api: Api, target: Target) -> None:
    store: Any = api.registry.store
    key = _key(target)
    record = await store.get(1, key)
    if record is not None:
        await store.write(
            1,
            write_of(
                "delete", key, orjson.loads(record.data), record.data, record.resource_version
            ),
        )


def _key(target: Target) -> ObjectKey:
    return ObjectKey(
        *target.resource.storage,
        NAMESPACE if target.resource.namespaced else "",
        target.named()["metadata"]["name"],
    )


def requests(target: Target, place: Place, fill: str, size: int) -> Iterator[tuple[bool, Request]]:
    """All ways to send about ``size`` bytes for the place, and to read them. First value: whether
    the object is there before."""
    verbs = target.resource.versions[target.version].verbs
    whole = filled(target.named(), place, fill, size)
    text = orjson.dumps(whole)
    yield False, Request("create", "POST", target.collection, text)
    if "update" not in verbs:
        return
    value = value_at(whole, place.steps)
    part = with_value({}, place.steps, value)
    changed = orjson.loads(text)
    changed["metadata"].setdefault("labels", {})
    if isinstance(changed["metadata"]["labels"], dict):
        changed["metadata"]["labels"]["one"] = "change"
    yield (
        False,
        Request(
            "apply-new",
            "PATCH",
            f"{target.path}?fieldManager=b&force=true",
            text,
            "application/apply-patch+yaml",
        ),
    )
    yield True, Request("update", "PUT", target.path, orjson.dumps(changed))
    yield (
        True,
        Request(
            "apply",
            "PATCH",
            f"{target.path}?fieldManager=b&force=true",
            orjson.dumps(changed),
            "application/apply-patch+yaml",
        ),
    )
    yield (
        True,
        Request(
            "conflict",
            "PATCH",
            f"{target.path}?fieldManager=c",
            _other(target, place, value),
            "application/apply-patch+yaml",
        ),
    )
    yield (
        True,
        Request("merge", "PATCH", target.path, orjson.dumps(part), "application/merge-patch+json"),
    )
    if negotiate.STRATEGIC_PATCH in target.resource.patch_types:
        yield (
            True,
            Request(
                "strategic",
                "PATCH",
                target.path,
                orjson.dumps(part),
                "application/strategic-merge-patch+json",
            ),
        )
    yield (
        True,
        Request(
            "json-patch",
            "PATCH",
            target.path,
            _operations(place, value, size),
            "application/json-patch+json",
        ),
    )
    for accept in (
        TABLE,
        PROTOBUF,
        CBOR,
        "application/yaml",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    ):
        if accept != PROTOBUF or negotiate.PROTOBUF in target.resource.encodings:
            yield True, Request(f"get {accept[-12:]}", "GET", target.path, accept=accept)
    yield True, Request("list", "GET", f"{target.collection}?labelSelector=a%21%3Db", accept=TABLE)
    yield True, Request("delete", "DELETE", target.path)


def _other(target: Target, place: Place, value: Any) -> bytes:
    """The same items with other contents: conflicts wherever the items have an owner."""
    if isinstance(value, dict):
        value = {k: _changed(v) for k, v in value.items()}
    else:
        value = [_changed(v, place.schema.map_keys) for v in value]
    return orjson.dumps(with_value(target.named(), place.steps, value))


def _changed(value: Any, keys: tuple[str, ...] = ()) -> Any:
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, dict):
        return {k: v if k in keys else _changed(v) for k, v in value.items()}
    return value


def _operations(place: Place, value: Any, size: int) -> bytes:
    """Items are added at the head and taken away there."""
    at = "/" + "/".join({"[]": "0", "{}": "key"}.get(step, step) for step in place.steps)
    if isinstance(value, dict):
        item = next(iter(value.values()), "")
        made = [{"op": "add", "path": f"{at}/new{i}", "value": item} for i in range(4000)]
    else:
        made = [
            op
            for _ in range(2000)
            for op in (
                {"op": "add", "path": f"{at}/0", "value": value[0]},
                {"op": "remove", "path": f"{at}/0"},
            )
        ]
    each = len(orjson.dumps(made[0])) + 1
    return orjson.dumps(made[: max(size // each, 2)])


async def costs(
    api: Api, target: Target, place: Place, fill: str, size: int, only: Collection[str] = ()
) -> dict[str, Cost]:
    """By request, what it takes."""
    before: Write | None = None
    made: dict[str, Cost] = {}
    for there, request in requests(target, place, fill, size):
        if only and request.what not in only:
            continue
        await clear(api, target)
        if there:
            try:
                before = before or stored(api, target, filled(target.named(), place, fill, size))
            except ValueError:  # decoding says no: the requests that make an object show how fast
                break
            await api.registry.store.write(1, before)
        made[request.what] = await cost(api, request)
    return made
