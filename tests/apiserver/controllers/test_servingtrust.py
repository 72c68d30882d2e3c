"""The ClusterTrustBundle of the signer kubernetes.io/kube-apiserver-serving."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import pytest
import pytest_asyncio

from admission.plugins.certificates import BUNDLES
from apiserver.controllers import manager, servingtrust
from apiserver.controllers.actions import MANAGER, Actions
from apiserver.controllers.manager import Controllers, Trust
from apiserver.controllers.servingtrust import PREFIX, SIGNER, ServingTrust, name_of
from apiserver.meta import features
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.registry.services import SERVICES
from apiserver.storage.interface import ObjectKey
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.anchors import anchor
from tests.support.definitionworker import Worker, running
from tests.support.switches import serve

CA, OTHER = anchor("one"), anchor("two")
OWN = name_of(CA)


@pytest_asyncio.fixture
async def served(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    monkeypatch.setitem(features.ENABLED, "ClusterTrustBundle", True)
    serve(monkeypatch, BUNDLES.group, "v1beta1")
    monkeypatch.setattr(servingtrust, "RESTORE", 0.02)
    async with running(store, tenant, "test") as worker:
        yield worker


def keeper(worker: Worker, store: PostgresStore, bundle: str = CA) -> ServingTrust:
    return ServingTrust(Actions(worker.registry), Relations(store.database), bundle)


async def bundles(worker: Worker) -> dict[str, str]:
    """Their anchors by their names."""
    page = await worker.registry.store.list(worker.tenant.id, BUNDLES)
    found = [orjson.loads(record.data) for record in page.records]
    return {obj["metadata"]["name"]: obj["spec"]["trustBundle"] for obj in found}


def bundle(name: str, signer: str = "", anchors: str = OTHER) -> Object:
    spec = {"trustBundle": anchors, **({"signerName": signer} if signer else {})}
    return {"metadata": {"name": name}, "spec": spec}


async def put(worker: Worker, obj: Object, manager: str = "test") -> None:
    key = ObjectKey(*BUNDLES, "", obj["metadata"]["name"])
    assert await Actions(worker.registry).ensure(worker.tenant, key, obj, manager)


def test_the_name_says_what_is_in_it() -> None:
    assert OWN.startswith("kubernetes.io:kube-apiserver-serving:") and name_of(OTHER) != OWN
    assert len(OWN) == len(PREFIX) + 24


async def test_what_verifies_the_server_is_published_alone(
    served: Worker, store: PostgresStore
) -> None:
    await put(served, bundle(f"{PREFIX}old", SIGNER))
    await put(served, bundle("example.com:mine:one", "example.com/mine"))
    await put(served, bundle("nobodys"))
    await keeper(served, store).look(served.tenant, SIGNER)
    others = {"example.com:mine:one": OTHER, "nobodys": OTHER}
    assert await bundles(served) == {OWN: CA, **others}
    await keeper(served, store, OTHER).look(served.tenant, SIGNER)
    assert await bundles(served) == {name_of(OTHER): OTHER, **others}


async def test_it_is_put_right(served: Worker, store: PostgresStore) -> None:
    await put(served, bundle(OWN, SIGNER))
    await keeper(served, store).look(served.tenant, SIGNER)
    assert await bundles(served) == {OWN: CA}
    before = await store.heads([served.tenant.id])
    await keeper(served, store).look(served.tenant, SIGNER)
    assert await store.heads([served.tenant.id]) == before, "nothing is left to do"


async def test_a_controller_manager_is_left_alone(served: Worker, store: PostgresStore) -> None:
    await put(served, bundle(f"{PREFIX}theirs", SIGNER), MANAGER)
    await keeper(served, store).look(served.tenant, SIGNER)
    assert await bundles(served) == {f"{PREFIX}theirs": OTHER}


async def test_it_comes_with_a_tenants_use_and_comes_back(
    served: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "USE", 0.02)

    async def tenant_of(number: int) -> Tenant | None:
        return served.tenant

    controllers = Controllers(
        served.registry,
        store.database,
        tenant_of,
        "test",
        served.controller,
        trust=Trust(ca_bundle=CA),
        used=lambda: [served.tenant.id],
    )
    controllers.start()
    try:
        await served.until_true(lambda: _is_published(served))
        record = await store.get(served.tenant.id, ObjectKey(*BUNDLES, "", OWN))
        assert record is not None
        await Actions(served.registry).delete(served.tenant, record.key, record.uid)
        await served.until_true(lambda: _is_published(served))
    finally:
        await controllers.stop()


async def _is_published(worker: Worker) -> bool:
    return await bundles(worker) == {OWN: CA}


async def test_a_sweep_finds_tenants_that_lack_it(served: Worker, store: PostgresStore) -> None:
    some = keeper(served, store)
    assert await some.missed(served.tenant.id) == [], "nothing has been seeded yet"
    service = {"metadata": {"name": "kubernetes"}, "spec": {"ports": [{"port": 443}]}}
    key = ObjectKey(*SERVICES, "default", "kubernetes")
    namespace = ObjectKey("", "namespaces", "", "default")
    actions = Actions(served.registry)
    await actions.ensure(served.tenant, namespace, {"metadata": {"name": "default"}})
    assert await actions.ensure(served.tenant, key, service)
    assert await some.missed(served.tenant.id) == [SIGNER]
    await some.look(served.tenant, SIGNER)
    assert await some.missed(served.tenant.id) == []
