"""Definitions when several workers see to them, when one of them stops in the middle, and when the
database goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_asyncio

from admission.attributes import Attributes
from admission.chain import Chain
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.routes import find_view
from apiserver.endpoints.server import Server
from apiserver.errors import Forbidden
from apiserver.kinds.apiextensions import conditions
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.translate import Outdated
from apiserver.storage import leases
from apiserver.storage.errors import Unavailable
from apiserver.storage.interface import Listener, Write
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.api import receive_of
from tests.support.definitions import definition
from tests.support.definitionworker import ADMIN, Worker, running
from tests.support.leases import refused, runs_out
from tests.support.waiting import PATIENCE, until

FOOS = ("example.com", "foos")
BARS = ("example.com", "bars")
FOO = "foos.example.com"
BODY = b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"f"}}'
SERVICES = ("apiregistration.k8s.io", "apiservices")


class DeafStore(PostgresStore):
    """No hint of other processes' writes gets through."""

    def listen(self, listener: Listener) -> None:
        pass


@pytest_asyncio.fixture
async def deaf(postgres: str, tenant: int) -> AsyncIterator[Worker]:
    """A worker that no hint reaches and that never looks by itself: it knows what it has asked
    for."""
    opened = DeafStore(postgres, size=2)
    await opened.open()
    async with running(opened, tenant, "deaf", deaf=True) as made:
        yield made
    await opened.close()


def foo(name: str = "f", **metadata: Any) -> Object:
    return {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name, **metadata}}


def established(crd: Object | None) -> bool:
    return crd is not None and conditions.is_true(crd, "Established")


async def until_established(worker: Worker, name: str = FOO) -> Object:
    """What a client sees that reads until the condition is there."""
    found: Object | None = None

    async def look() -> bool:
        nonlocal found
        found = await worker.get(DEFINITIONS, name)
        return established(found)

    await worker.until_true(look)
    assert found is not None
    return found


async def answer(worker: Worker, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """What a client is answered by that worker."""

    async def unused(*_: Any) -> None:
        raise AssertionError

    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    scope = {
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
    }
    request = ApiRequest(scope, receive_of(body))
    request.tenant, request.user, request.authorized = worker.tenant, ADMIN, True
    server = cast(
        Server,
        SimpleNamespace(
            registry=worker.registry,
            catalog=worker.catalog,
            git_version="v1.36.0",
            aggregator=None,
        ),
    )
    response: Any = await find_view(server, request)(server, request, unused)
    return response.status_code, response.content if hasattr(response, "content") else response.body


# --- what one worker has told is true in all ------------------------------------------------------


async def test_what_one_worker_calls_established_every_worker_serves(
    worker: Worker, deaf: Worker
) -> None:
    await worker.create(DEFINITIONS, definition())
    await until_established(worker)
    assert not deaf.serves(FOOS), "the other worker has not heard of it"
    status, _ = await answer(deaf, "POST", "/apis/example.com/v1/namespaces/ns/foos", BODY)
    assert status == 201


@pytest.mark.parametrize(
    "path",
    [
        "/apis",
        "/apis/example.com",
        "/apis/example.com/v1",
        "/openapi/v3",
        "/openapi/v3/apis/example.com/v1",
    ],
)
async def test_every_worker_publishes_what_one_calls_established(
    worker: Worker, deaf: Worker, path: str
) -> None:
    await worker.create(DEFINITIONS, definition())
    await until_established(worker)
    status, body = await answer(deaf, "GET", path)
    assert status == 200 and b"example.com" in body


async def test_a_worker_that_knows_the_definition_before_this_one_serves_this_one(
    worker: Worker, deaf: Worker
) -> None:
    await worker.create(DEFINITIONS, definition())
    await until_established(worker)
    await deaf.catalog.fresh(deaf.tenant)
    await worker.delete(DEFINITIONS, FOO)
    await worker.until_gone(FOO)
    again = definition(
        {"type": "object", "properties": {"size": {"type": "integer", "default": 7}}}
    )
    await worker.create(DEFINITIONS, again)
    await until_established(worker)
    status, body = await answer(deaf, "POST", "/apis/example.com/v1/namespaces/ns/foos", BODY)
    assert status == 201 and b'"size":7' in body


async def test_nothing_is_created_for_a_definition_that_went_unnoticed(
    worker: Worker, deaf: Worker
) -> None:
    await worker.create(DEFINITIONS, definition())
    await until_established(worker)
    await deaf.catalog.fresh(deaf.tenant)
    await worker.delete(DEFINITIONS, FOO)
    await worker.until_gone(FOO)
    with pytest.raises(Outdated, match="while custom resource definition is terminating"):
        await deaf.create(FOOS, foo())
    await worker.create(DEFINITIONS, definition())
    await until_established(worker)
    with pytest.raises(Outdated):
        await deaf.create(FOOS, foo())
    assert not (
        await worker.registry.store.list(worker.tenant.id, worker.scope(FOOS).resource.storage)
    ).records


async def test_of_two_workers_that_accept_a_name_at_one_moment_one_wins(
    worker: Worker, other: Worker
) -> None:
    second = definition(kind="Bar")
    second["spec"]["names"] |= {"kind": "Foo", "listKind": "BarList", "singular": "bar"}
    await asyncio.gather(
        worker.create(DEFINITIONS, definition()), other.create(DEFINITIONS, second)
    )

    async def decided() -> bool:
        found = [await worker.get(DEFINITIONS, name) for name in (FOO, "bars.example.com")]
        return all(
            crd is not None and conditions.find(crd, "NamesAccepted") is not None for crd in found
        )

    await worker.until_true(decided)
    found = [await worker.get(DEFINITIONS, name) for name in (FOO, "bars.example.com")]
    assert sorted(established(crd) for crd in found) == [False, True]
    assert sorted((crd or {})["status"]["acceptedNames"]["kind"] for crd in found) == ["", "Foo"]


# --- one that stops in the middle -----------------------------------------------------------------


async def test_another_worker_accepts_what_the_first_one_did_not_get_to(
    worker: Worker, other: Worker
) -> None:
    await worker.controller.stop()
    await worker.create(DEFINITIONS, definition())
    await until_established(other)
    await other.until_true(lambda: exists(other, "v1.example.com"))


async def exists(worker: Worker, service: str) -> bool:
    return await worker.get(SERVICES, service) is not None


async def test_a_definition_is_seen_to_by_who_enters_the_tenant_next(
    store: PostgresStore, tenant: int
) -> None:
    async with running(store, tenant, "one") as first:
        # it dies before it does anything
        first.controller._settling.start = lambda *_: None  # type: ignore[method-assign]
        await first.create(DEFINITIONS, definition())
    async with running(store, tenant, "two") as second:
        await until_established(second)
        await second.create(FOOS, foo())
    async with running(store, tenant, "three") as third:
        # likewise
        third.controller._settling.start = lambda *_: None  # type: ignore[method-assign]
        await third.delete(DEFINITIONS, FOO)
    async with running(store, tenant, "four") as fourth:
        await fourth.until_gone(FOO)
        assert not (
            await store.list(
                tenant, fourth.registry.catalog.find(fourth.tenant, *DEFINITIONS).storage
            )
        ).records
        assert not await exists(fourth, "v1.example.com")


async def test_instances_are_ended_by_one_worker_and_by_another_when_that_is_gone(
    worker: Worker, other: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.create(DEFINITIONS, definition())
    await until_established(worker)
    await worker.create(FOOS, foo())
    database = cast(PostgresStore, worker.registry.store).database
    duty = f"definitions/{worker.tenant.id}"
    assert await leases.acquire(database, duty, "a worker that died", PATIENCE)
    refusals = refused(monkeypatch)
    await worker.delete(DEFINITIONS, FOO)
    await until(lambda: refusals.count(duty) > 2)
    assert await worker.get(FOOS, "f") is not None
    await runs_out(database, duty, "a worker that died")
    await worker.until_gone(FOO)
    await worker.until_true(
        lambda: leases.acquire(database, duty, "the next one", 1.0)
    )  # the duty is given up


async def test_what_waits_when_nobody_uses_the_tenant_is_found_by_the_sweep(
    store: PostgresStore, tenant: int
) -> None:
    async with running(store, tenant, "one") as first:
        await first.create(DEFINITIONS, definition())
        await until_established(first)
        # it dies before it does anything
        first.controller._settling.start = lambda *_: None  # type: ignore[method-assign]
        await first.delete(DEFINITIONS, FOO)
    found = [f for f in await Relations(store.database).waiting() if f.tenant == tenant]
    assert [(f.key.group_resource, f.key.name) for f in found] == [(DEFINITIONS, FOO)]
    async with running(store, tenant, "two") as second:
        second.controller.look(second.tenant, found[0].key.name)
        await second.until_gone(FOO)


# --- admission ------------------------------------------------------------------------------------


class Refuses:
    """Lets nobody change a definition that is being deleted, delete its objects, or create
    APIServices of a group."""

    name = "refuses"

    def handles(self, attributes: Attributes) -> bool:
        return True

    async def validate(self, attributes: Attributes, lookup: Any) -> None:
        if self._concerns(attributes):
            resource = attributes.resource
            group_resource = GroupResource(resource.group, resource.resource)
            raise Forbidden(group_resource, attributes.name, "a policy says so")

    def _concerns(self, attributes: Attributes) -> bool:
        if attributes.kind.kind == "CustomResourceDefinition":
            ending = bool(
                attributes.object and attributes.object["metadata"].get("deletionTimestamp")
            )
            return ending and attributes.name == "aas.example.com"
        if attributes.kind.kind == "APIService":
            return attributes.name == "v1.b.example.com"
        return attributes.operation == "DELETE"


async def test_what_admission_refuses_keeps_nothing_else_from_going(
    store: PostgresStore, tenant: int
) -> None:
    async with running(store, tenant, "one", chain=Chain([Refuses()])) as worker:
        for crd in (definition(kind="Aa"), definition(), definition(group="b.example.com")):
            await worker.create(DEFINITIONS, crd)
            await until_established(worker, crd["metadata"]["name"])
        await worker.create(FOOS, foo())
        for name in ("aas.example.com", FOO, "foos.b.example.com"):
            await worker.delete(DEFINITIONS, name)
        await worker.until_gone(FOO)
        await worker.until_gone("foos.b.example.com")
        assert await worker.get(DEFINITIONS, "aas.example.com") is not None


# --- finalizers -----------------------------------------------------------------------------------


async def test_instances_that_wait_are_marked_once_and_then_only_counted(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.create(DEFINITIONS, definition())
    await until_established(worker)
    held = await worker.create(FOOS, foo(finalizers=["example.com/wait"]))
    await worker.create(FOOS, foo("free"))
    store, limits = worker.registry.store, []
    listed = store.list

    async def spy(tenant: int, resource: Any, **more: Any) -> Any:
        limits.append(more.get("limit", 0))
        return await listed(tenant, resource, **more)

    monkeypatch.setattr(store, "list", spy)
    await worker.delete(DEFINITIONS, FOO)
    await worker.until(lambda: limits.count(1) >= 3)
    assert len([limit for limit in limits if limit != 1]) == 1
    found = await worker.get(FOOS, "f")
    assert (
        found is not None
        and found["metadata"]["deletionTimestamp"]
        and found["metadata"]["deletionGracePeriodSeconds"] == 0
    )
    assert found["metadata"]["generation"] == held["metadata"]["generation"] + 1
    crd = await worker.get(DEFINITIONS, FOO)
    assert crd is not None
    condition = conditions.find(crd, "Terminating")
    assert (
        condition is not None
        and condition["status"] == "True"
        and condition["reason"] == "InstanceDeletionInProgress"
    )
    await worker.change(FOOS, "f", lambda obj: obj["metadata"].pop("finalizers"))
    await worker.until_gone(FOO)


async def test_a_definition_with_names_that_were_never_accepted_goes_too(worker: Worker) -> None:
    second = definition(kind="Bar")
    second["spec"]["names"] |= {"kind": "Foo", "listKind": "BarList", "singular": "bar"}
    await worker.create(DEFINITIONS, definition())
    await until_established(worker)
    await worker.create(FOOS, foo())
    await worker.create(DEFINITIONS, second)
    await worker.delete(DEFINITIONS, "bars.example.com")
    await worker.until_gone("bars.example.com")
    assert await worker.get(FOOS, "f") is not None


# --- the database ---------------------------------------------------------------------------------


async def test_an_outage_of_the_database_delays_and_loses_nothing(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, refused = worker.registry.store, []
    write = store.write

    async def failing(tenant: int, wanted: Write) -> int:
        if wanted.operation == "update" and len(refused) < 3:
            refused.append(wanted)
            raise Unavailable("the database is away")
        return await write(tenant, wanted)

    monkeypatch.setattr(store, "write", failing)
    await worker.create(DEFINITIONS, definition())
    await until_established(worker)
    assert len(refused) == 3


async def test_a_worker_that_cannot_reach_the_database_at_all_comes_back(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, asked = worker.registry.store, []
    head = store.head

    async def failing(tenant: int) -> int:
        if len(asked) < 3:
            asked.append(tenant)
            raise Unavailable("the database is away")
        return await head(tenant)

    await worker.create(DEFINITIONS, definition(kind="Bar"))
    await until_established(worker, "bars.example.com")
    monkeypatch.setattr(store, "head", failing)
    await worker.create(DEFINITIONS, definition())
    await worker.until(lambda: worker.serves(FOOS))
    assert len(asked) == 3
