"""What every namespace and every tenant has: there with the namespace, back when it is deleted, and
found by the sweep where the process that knew of it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from admission.chain import Chain
from admission.plugins.serviceaccount import ServiceAccount
from apiserver.controllers import manager, rootca, serviceaccounts, systemnamespaces
from apiserver.controllers.actions import Actions
from apiserver.controllers.manager import Controllers, Trust
from apiserver.controllers.rootca import RootCertificate
from apiserver.controllers.upkeep import TurnedOff
from apiserver.errors import Forbidden
from apiserver.meta.objects import Object
from apiserver.registry.core import write_of
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.pool import Connection
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitionworker import Worker, running
from tests.support.leases import refused, runs_out
from tests.support.waiting import until, until_true

NAMESPACES, CONFIGMAPS, PODS = ("", "namespaces"), ("", "configmaps"), ("", "pods")
ACCOUNTS = ("", "serviceaccounts")
CA = "-----BEGIN CERTIFICATE-----\n"


def controllers(
    worker: Worker, store: PostgresStore, off: TurnedOff = manager.nothing_off, of: str = "test"
) -> Controllers:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    return Controllers(
        worker.registry, store.database, tenant_of, of, worker.controller, off, Trust(CA)
    )


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    for module in (serviceaccounts, rootca, systemnamespaces):
        monkeypatch.setattr(module, "RESTORE", 0.02)
    some = controllers(worker, store)
    yield worker
    await some.stop()


def namespace(name: str = "ns") -> Object:
    return {"metadata": {"name": name}}


def pod() -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def test_a_pod_is_admitted_right_after_its_namespace(kept: Worker) -> None:
    kept.registry.chain = Chain([ServiceAccount()])
    await kept.create(NAMESPACES, namespace())
    created = await kept.create(PODS, pod())
    assert created["spec"]["serviceAccountName"] == "default"


async def test_who_makes_the_account_first_is_not_told_that_it_is_there(kept: Worker) -> None:
    """As where a controller manager has not come to the namespace yet."""
    await kept.create(NAMESPACES, namespace())
    created = await kept.create(ACCOUNTS, {"metadata": {"name": "default", "labels": {"a": "b"}}})
    assert created["metadata"]["labels"] == {"a": "b"}


async def test_what_was_deleted_from_an_old_namespace_is_not_made_for_who_asks(
    kept: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serviceaccounts, "RESTORE", 3600.0)
    await kept.create(NAMESPACES, namespace())
    assert await kept.get(ACCOUNTS, "default") is not None
    await kept.delete(ACCOUNTS, "default")
    monkeypatch.setattr(manager, "NEW", timedelta(0))
    assert await kept.get(ACCOUNTS, "default") is None


async def test_the_certificate_is_there_with_the_namespace(kept: Worker) -> None:
    await kept.create(NAMESPACES, namespace())
    published = await kept.get(CONFIGMAPS, rootca.NAME)
    assert published is not None and published["data"] == {"ca.crt": CA}


@pytest.mark.parametrize(
    ("resource", "name"), [(ACCOUNTS, "default"), (CONFIGMAPS, rootca.NAME)], ids=["account", "ca"]
)
async def test_what_is_deleted_comes_back(
    kept: Worker, resource: tuple[str, str], name: str
) -> None:
    await kept.create(NAMESPACES, namespace())
    before = await kept.get(resource, name)
    assert before is not None
    await kept.delete(resource, name)

    async def another() -> bool:
        obj = await kept.get(resource, name)
        return obj is not None and obj["metadata"]["uid"] != before["metadata"]["uid"]

    await kept.until_true(another)


async def test_an_edited_certificate_is_put_right(kept: Worker) -> None:
    await kept.create(NAMESPACES, namespace())
    assert await kept.get(CONFIGMAPS, rootca.NAME) is not None
    await kept.change(CONFIGMAPS, rootca.NAME, lambda obj: obj["data"].update({"ca.crt": "x"}))

    async def restored() -> bool:
        obj = await kept.get(CONFIGMAPS, rootca.NAME)
        return obj is not None and obj["data"] == {"ca.crt": CA}

    await kept.until_true(restored)


async def test_a_restart_with_another_certificate_changes_all_that_are_ours(
    worker: Worker, store: PostgresStore
) -> None:
    """One namespace's ConfigMap cannot be changed, one is a controller manager's, one has gone."""
    relations, actions = Relations(store.database), Actions(worker.registry)
    spaces = ("a", "b", "frozen", "gone", "theirs", "z")
    before = RootCertificate(actions, relations, CA)
    for space in spaces:
        await worker.create(NAMESPACES, namespace(space))
        if space != "theirs":
            await before.look(worker.tenant, space)
    keys = {space: ObjectKey("", "configmaps", space, rootca.NAME) for space in spaces}
    theirs = {"metadata": {"name": rootca.NAME, "namespace": "theirs"}, "data": {"ca.crt": "x"}}
    assert await actions.ensure(worker.tenant, keys["theirs"], theirs)

    def freeze(obj: Object) -> bool:
        obj["immutable"] = True
        return True

    await actions.change(worker.tenant, keys["frozen"], freeze)
    gone = await store.get(worker.tenant.id, keys["gone"])
    assert gone is not None
    await actions.delete(worker.tenant, keys["gone"], gone.uid)

    after = RootCertificate(actions, relations, "another")
    (every,) = after.used(worker.tenant.id)
    assert after.used(worker.tenant.id) == [], "not asked again at once"
    await after.look(worker.tenant, every)
    found = {space: await actions.get(worker.tenant, key) for space, key in keys.items()}
    data = {space: obj and obj["data"]["ca.crt"] for space, obj in found.items()}
    expected = dict.fromkeys(("a", "b", "z"), "another")
    assert data == {**expected, "frozen": CA, "gone": None, "theirs": "x"}


async def test_what_a_controller_manager_publishes_stays(
    worker: Worker, store: PostgresStore
) -> None:
    actions, key = Actions(worker.registry), ObjectKey("", "configmaps", "ns", rootca.NAME)
    theirs = {"metadata": {"name": key.name, "namespace": "ns"}, "data": {"ca.crt": "theirs"}}
    assert await actions.ensure(worker.tenant, key, theirs)
    await RootCertificate(actions, Relations(store.database), CA).look(worker.tenant, "ns")
    stays = await worker.get(CONFIGMAPS, rootca.NAME)
    assert stays is not None and stays["data"] == {"ca.crt": "theirs"}


async def test_a_system_namespace_comes_back(kept: Worker, store: PostgresStore) -> None:
    first = await kept.create(NAMESPACES, namespace("kube-node-lease"))
    key = kept.scope(NAMESPACES, "kube-node-lease").key()
    record = await store.get(kept.tenant.id, key)
    assert record is not None
    await store.write(
        kept.tenant.id, write_of("delete", key, first, record.data, record.resource_version)
    )

    async def another() -> bool:
        return await kept.get(NAMESPACES, "kube-node-lease") is not None

    await kept.until_true(another)


async def test_the_sweep_finds_what_a_dead_process_left(
    worker: Worker, store: PostgresStore
) -> None:
    for name in ("default", "other"):
        await worker.create(NAMESPACES, namespace(name))
    successor = controllers(worker, store)
    await successor.sweep()

    async def complete() -> bool:
        present = [
            await store.get(worker.tenant.id, ObjectKey(*resource, space, name))
            for space in ("default", "other", "kube-system", "kube-node-lease")
            for resource, name in ((ACCOUNTS, "default"), (CONFIGMAPS, rootca.NAME))
        ]
        return None not in present

    await worker.until_true(complete)
    await successor.stop()


async def test_a_tenant_does_without_what_it_turns_off(
    worker: Worker, store: PostgresStore
) -> None:
    async def off(tenant: int) -> Collection[str]:
        return ["serviceaccount-controller"]

    some = controllers(worker, store, off)
    await worker.create(NAMESPACES, namespace())
    assert await worker.get(ACCOUNTS, "default") is None
    assert await worker.get(CONFIGMAPS, rootca.NAME) is not None
    await some.stop()


async def test_a_pod_waits_for_the_account_that_is_on_its_way(
    store: PostgresStore, tenant: int
) -> None:
    """As in another process than the one that makes it."""
    looks: list[float] = []

    def pause() -> float:
        looks.append(0.0)
        return 0.0

    async with running(store, tenant, "one", chain=Chain([ServiceAccount(pause)])) as worker:
        with pytest.raises(Forbidden, match='serviceaccount "default" not found'):
            await worker.create(PODS, pod())
    assert len(looks) == 9


async def test_a_process_that_starts_does_not_wait_for_the_sweep_of_all(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.create(NAMESPACES, namespace())
    monkeypatch.setattr(manager, "FIRST_SWEEP", 0.01)
    monkeypatch.setattr(manager, "SWEEP", 10_000)
    successor = controllers(worker, store)
    successor.start()

    async def complete() -> bool:
        key = ObjectKey(*ACCOUNTS, "ns", "default")
        return await store.get(worker.tenant.id, key) is not None

    await worker.until_true(complete)
    await successor.stop()


async def test_the_sweep_of_a_process_that_dies_is_soon_another_ones(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies during a sweep that may take longer than its lease, which it renews meanwhile."""
    for name, seconds in (("FIRST_SWEEP", 0.01), ("STANDS", 0.01), ("SWEEP", 10_000)):
        monkeypatch.setattr(manager, name, seconds)
    asked = refused(monkeypatch)
    swept: list[str] = []
    dies, lives = controllers(worker, store, of="dies"), controllers(worker, store, of="lives")
    for some, name in ((dies, "dies"), (lives, "lives")):
        monkeypatch.setattr(some, "sweep", endless(name, swept))

    async def expires() -> Any:
        async def query(connection: Connection) -> Any:
            ask = "SELECT expires_at FROM leases WHERE name = %s AND holder = 'dies'"
            return await (await connection.execute(ask, [manager.LEASE])).fetchone()

        return await store.database.read(query)

    dies.start()
    await until(lambda: swept == ["dies"])
    before = await expires()

    async def renewed() -> bool:
        return bool(await expires() > before)

    await until_true(renewed)
    lives.start()
    await until(lambda: asked.count(manager.LEASE) > 3)
    assert swept == ["dies"], "as long as one is alive it is alone"

    await dies.stop()  # which gives nothing back, as where it is killed
    await runs_out(store.database, manager.LEASE, "dies")
    await until(lambda: swept == ["dies", "lives"])
    await lives.stop()


def endless(name: str, swept: list[str]) -> Callable[[], Awaitable[None]]:
    async def sweep() -> None:
        swept.append(name)
        await asyncio.Event().wait()

    return sweep
