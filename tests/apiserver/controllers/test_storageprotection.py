"""Claims, volumes and their classes that are being deleted stay while somebody uses them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from admission.attributes import Attributes
from admission.chain import Chain
from apiserver.controllers import storageprotection
from apiserver.controllers.actions import Actions
from apiserver.controllers.storageprotection import (
    AGAIN,
    CLAIMS,
    CLASSES,
    PODS,
    VOLUMES,
    ClaimProtection,
    ClassProtection,
    VolumeProtection,
)
from apiserver.controllers.upkeep import Keeper
from apiserver.errors import Forbidden
from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.apiserver.controllers.test_upkeep import controllers
from tests.support.definitionworker import Worker, running

CLAIM, VOLUME, CLASS = (
    "kubernetes.io/pvc-protection",
    "kubernetes.io/pv-protection",
    "kubernetes.io/vac-protection",
)


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    monkeypatch.setattr(storageprotection, "SETTLE", 0.02)
    some = controllers(worker, store)
    yield worker
    await some.stop()


def claim(name: str = "c", *finalizers: str, **spec: str) -> Object:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "metadata": {"name": name, "finalizers": list(finalizers or (CLAIM,))},
        "spec": {**wanted, **spec},
    }


def volume(name: str = "v", **spec: str) -> Object:
    held = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    return {
        "metadata": {"name": name, "finalizers": [VOLUME]},
        "spec": {**held, "csi": {"driver": "d.example", "volumeHandle": "h"}, **spec},
    }


def volume_class() -> Object:
    metadata = {"name": "gold", "finalizers": [CLASS]}
    return {"metadata": metadata, "driverName": "d.example", "parameters": {"tier": "1"}}


def pod(source: Object, node: str = "n") -> Object:
    return {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "volumes": [{"name": "data", **source}],
        },
    }


def mounts(name: str) -> dict[str, Object]:
    return {"persistentVolumeClaim": {"claimName": name}}


async def gone(worker: Worker, resource: tuple[str, str], name: str) -> None:
    async def absent() -> bool:
        return await worker.get(resource, name) is None

    await worker.until_true(absent)


async def finalizers(worker: Worker, resource: tuple[str, str], name: str) -> list[str]:
    obj = await worker.get(resource, name)
    assert obj is not None
    return list(obj["metadata"].get("finalizers") or ())


async def settled(worker: Worker, store: PostgresStore) -> list[float | None]:
    """Everything looked at now; in how many seconds it is again, although nothing changes: claims,
    volumes and classes."""
    common = Actions(worker.registry), Relations(store.database)
    keepers: dict[Keeper, str] = {
        ClaimProtection(*common): "ns",
        VolumeProtection(*common): "v",
        ClassProtection(*common): "all",
    }
    return [await keeper.look(worker.tenant, name) for keeper, name in keepers.items()]


# --- claims ---------------------------------------------------------------------------------------
async def test_an_unused_claim_goes(kept: Worker) -> None:
    await kept.create(CLAIMS, claim("stays"))
    await kept.create(CLAIMS, claim())
    await kept.delete(CLAIMS, "c")
    await gone(kept, CLAIMS, "c")
    assert await finalizers(kept, CLAIMS, "stays") == [CLAIM]


async def test_a_claim_goes_with_the_pod_on_a_node_that_mounts_it(
    kept: Worker, store: PostgresStore
) -> None:
    await kept.create(CLAIMS, claim())
    await kept.create(PODS, pod(mounts("c")))
    await kept.delete(CLAIMS, "c")
    assert await settled(kept, store) == [AGAIN, None, None]
    assert await finalizers(kept, CLAIMS, "c") == [CLAIM]
    await kept.delete(PODS, "p")
    await gone(kept, CLAIMS, "c")


@pytest.mark.parametrize(
    "user", [pod(mounts("c"), ""), pod(mounts("other")), pod({"emptyDir": {}})], ids=str
)
async def test_other_pods_hold_no_claim(kept: Worker, user: Object) -> None:
    await kept.create(CLAIMS, claim())
    await kept.create(PODS, user)
    await kept.delete(CLAIMS, "c")
    await gone(kept, CLAIMS, "c")


EPHEMERAL = {"ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}}


async def test_a_pod_holds_the_claim_of_its_ephemeral_volume(
    worker: Worker, store: PostgresStore
) -> None:
    owner = await worker.create(PODS, pod(EPHEMERAL))
    reference = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    made = claim("p-data")
    made["metadata"]["ownerReferences"] = [reference]
    await worker.create(CLAIMS, made)
    await worker.delete(CLAIMS, "p-data")
    await settled(worker, store)
    assert await finalizers(worker, CLAIMS, "p-data") == [CLAIM]


async def test_no_pod_holds_a_claim_that_only_has_the_name(
    worker: Worker, store: PostgresStore
) -> None:
    await worker.create(PODS, pod(EPHEMERAL))
    await worker.create(CLAIMS, claim("p-data"))
    await worker.delete(CLAIMS, "p-data")
    await settled(worker, store)
    assert await worker.get(CLAIMS, "p-data") is None


async def test_a_pod_that_has_been_shut_down_lets_its_ephemeral_volume_go(
    kept: Worker, store: PostgresStore
) -> None:
    ends = pod(EPHEMERAL)
    ends["metadata"]["finalizers"] = ["example.com/waits"]
    owner = await kept.create(PODS, ends)
    made = claim("p-data")
    identity = {"name": "p", "uid": owner["metadata"]["uid"], "controller": True}
    made["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", **identity}]
    await kept.create(CLAIMS, made)
    await kept.delete(CLAIMS, "p-data")
    assert await settled(kept, store) == [AGAIN, None, None]
    await kept.delete(PODS, "p")
    await gone(kept, CLAIMS, "p-data")
    assert await kept.get(PODS, "p") is not None


async def test_others_finalizers_stay(kept: Worker) -> None:
    await kept.create(CLAIMS, claim("c", CLAIM, "example.com/mine"))
    await kept.delete(CLAIMS, "c")

    async def released() -> bool:
        return await finalizers(kept, CLAIMS, "c") == ["example.com/mine"]

    await kept.until_true(released)


class Refuses:
    """Lets nobody change the claim ``a``."""

    name = "refuses"

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation == "UPDATE"

    async def validate(self, attributes: Attributes, lookup: Any) -> None:
        if attributes.name == "a":
            raise Forbidden(CLAIMS, attributes.name, "a policy says so")


async def test_one_that_admission_keeps_does_not_keep_the_others(
    store: PostgresStore, tenant: int
) -> None:
    async with running(store, tenant, "one", chain=Chain([Refuses()])) as worker:
        for name in ("a", "b"):
            await worker.create(CLAIMS, claim(name))
            await worker.delete(CLAIMS, name)
        keeper = ClaimProtection(Actions(worker.registry), Relations(store.database))
        with pytest.raises(Forbidden, match="a policy says so"):
            await keeper.look(worker.tenant, "ns")
        assert await finalizers(worker, CLAIMS, "a") == [CLAIM]
        assert await worker.get(CLAIMS, "b") is None


@pytest.mark.parametrize(
    ("resource", "made", "finalizer"),
    [
        (CLAIMS, claim(), CLAIM),
        (VOLUMES, volume(), VOLUME),
        (CLASSES, volume_class(), CLASS),
    ],
    ids=["claim", "volume", "class"],
)
async def test_what_lacks_its_finalizer_gets_it(
    kept: Worker, resource: tuple[str, str], made: Object, finalizer: str
) -> None:
    name = made["metadata"]["name"]
    await kept.create(resource, {**made, "metadata": {"name": name}})

    async def held() -> bool:
        return await finalizers(kept, resource, name) == [finalizer]

    await kept.until_true(held)


# --- volumes and classes --------------------------------------------------------------------------
async def phase(worker: Worker, text: str) -> None:
    def edit(obj: Object) -> bool:
        obj["status"] = {"phase": text}
        return True

    key = worker.scope(VOLUMES, "v").key()
    await Actions(worker.registry).change(worker.tenant, key, edit, "status")


async def test_a_volume_goes_when_it_is_not_bound_any_more(
    kept: Worker, store: PostgresStore
) -> None:
    await kept.create(VOLUMES, volume())
    await phase(kept, "Bound")
    await kept.delete(VOLUMES, "v")
    assert await settled(kept, store) == [None, AGAIN, None]
    assert await finalizers(kept, VOLUMES, "v") == [VOLUME]
    await phase(kept, "Released")
    await gone(kept, VOLUMES, "v")


@pytest.mark.parametrize(
    ("resource", "made"),
    [
        (CLAIMS, claim(volumeAttributesClassName="gold")),
        (VOLUMES, volume(volumeAttributesClassName="gold")),
    ],
    ids=["claim", "volume"],
)
async def test_a_class_goes_with_the_last_that_names_it(
    kept: Worker, store: PostgresStore, resource: tuple[str, str], made: Object
) -> None:
    await kept.create(CLASSES, volume_class())
    await kept.create(resource, made)
    await kept.delete(CLASSES, "gold")
    assert await settled(kept, store) == [None, None, AGAIN]
    assert await finalizers(kept, CLASSES, "gold") == [CLASS]
    await kept.delete(resource, made["metadata"]["name"])
    await gone(kept, CLASSES, "gold")


@pytest.mark.parametrize(
    "status",
    [
        {"currentVolumeAttributesClassName": "gold"},
        {
            "modifyVolumeStatus": {
                "status": "InProgress",
                "targetVolumeAttributesClassName": "gold",
            }
        },
    ],
    ids=["current", "target"],
)
async def test_the_class_of_a_claims_status_is_used_until_it_names_another(
    kept: Worker, store: PostgresStore, status: Object
) -> None:
    actions, key = Actions(kept.registry), kept.scope(CLAIMS, "c").key()

    async def say(said: Object) -> None:
        def edit(obj: Object) -> bool:
            obj["status"] = said
            return True

        await actions.change(kept.tenant, key, edit, "status")

    await kept.create(CLASSES, volume_class())
    await kept.create(CLAIMS, claim(volumeAttributesClassName="silver"))
    await say(status)
    await kept.delete(CLASSES, "gold")
    await settled(kept, store)
    assert await finalizers(kept, CLASSES, "gold") == [CLASS]
    await say({})
    await gone(kept, CLASSES, "gold")


# --- what was missed ------------------------------------------------------------------------------
async def test_the_sweep_names_what_a_dead_process_left(
    worker: Worker, store: PostgresStore
) -> None:
    common, tenant = (Actions(worker.registry), Relations(store.database)), worker.tenant.id
    keepers: list[Keeper] = [
        ClaimProtection(*common),
        VolumeProtection(*common),
        ClassProtection(*common),
    ]
    assert [await keeper.missed(tenant) for keeper in keepers] == [[], [], []]
    await worker.create(CLAIMS, claim())
    await worker.create(VOLUMES, volume("untouched"))
    await worker.create(VOLUMES, volume())
    await worker.delete(VOLUMES, "v")
    await worker.create(CLASSES, volume_class())
    assert [list(await keeper.missed(tenant)) for keeper in keepers] == [["ns"], ["v"], ["all"]]
    assert [await keeper.missed(tenant) for keeper in keepers] == [[], [], []]
