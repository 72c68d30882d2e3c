"""Garbage collection end to end: over the database, with the controllers of a worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apiserver.meta.objects import Object
from apiserver.registry import deletion
from apiserver.registry.create import create
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.options import DeleteOptions
from apiserver.registry.write import Request
from tests.support.definitions import definition
from tests.support.definitionworker import Worker
from tests.support.events import events, reasons

CONFIGMAPS = ("", "configmaps")
FOOS = ("example.com", "foos")


def owned(name: str, *owners: Object, block: bool = True, **metadata: Any) -> Object:
    references = [reference(owner, blockOwnerDeletion=block) for owner in owners]
    metadata = {"name": name, **metadata, **({"ownerReferences": references} if references else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def reference(owner: Object, **more: Any) -> Object:
    metadata = owner["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": metadata["name"],
        "uid": metadata["uid"],
        **more,
    }


async def delete(worker: Worker, name: str, options: DeleteOptions) -> None:
    await deletion.delete(worker.registry, worker.scope(CONFIGMAPS, name), options)


async def until_gone(worker: Worker, *names: str) -> None:
    async def gone() -> bool:
        return [await worker.get(CONFIGMAPS, name) for name in names] == [None] * len(names)

    await worker.until_true(gone)


async def owners(worker: Worker, name: str) -> list[str]:
    obj = await worker.get(CONFIGMAPS, name)
    assert obj is not None, f"{name} is gone"
    return [o["name"] for o in obj["metadata"].get("ownerReferences", ())]


async def test_dependents_with_another_living_owner_survive_and_lose_the_reference(
    collected: Worker,
) -> None:
    goes = await collected.create(CONFIGMAPS, owned("goes"))
    stays = await collected.create(CONFIGMAPS, owned("stays"))
    for i in range(50):
        await collected.create(CONFIGMAPS, owned(f"one-{i}", goes))
        await collected.create(CONFIGMAPS, owned(f"two-{i}", goes, stays))
    await delete(collected, "goes", DeleteOptions(propagation_policy="Foreground"))
    await until_gone(collected, "goes")
    for i in range(50):
        assert await collected.get(CONFIGMAPS, f"one-{i}") is None
        assert await owners(collected, f"two-{i}") == ["stays"]


@pytest.mark.parametrize(
    ("options", "orphans"),
    [
        (DeleteOptions(), False),
        (DeleteOptions(propagation_policy="Background"), False),
        (DeleteOptions(propagation_policy="Foreground"), False),
        (DeleteOptions(propagation_policy="Orphan"), True),
        (DeleteOptions(orphan_dependents=False), False),
        (DeleteOptions(orphan_dependents=True), True),
    ],
    ids=["none", "background", "foreground", "orphan", "orphanDependents=false", "=true"],
)
async def test_a_family_of_three_generations(
    collected: Worker, options: DeleteOptions, orphans: bool
) -> None:
    goes = await collected.create(CONFIGMAPS, owned("goes"))
    stays = await collected.create(CONFIGMAPS, owned("stays"))
    child = await collected.create(CONFIGMAPS, owned("child", goes))
    await collected.create(CONFIGMAPS, owned("grandchild", child))
    await collected.create(CONFIGMAPS, owned("both", goes, stays))
    await delete(collected, "goes", options)
    await until_gone(collected, "goes", *([] if orphans else ["child", "grandchild"]))

    async def settled() -> bool:
        return await owners(collected, "both") == ["stays"]

    await collected.until_true(settled)
    if orphans:
        assert (await owners(collected, "child"), await owners(collected, "grandchild")) == (
            [],
            ["child"],
        )


async def test_an_owner_in_another_namespace_is_told_of(collected: Worker) -> None:
    """What it would own goes, and the Event says why. Whose owner is only named wrongly goes
    without."""
    place = replace(collected.scope(CONFIGMAPS), namespace="other")
    decoded, _ = place.decode(owned("owner"))
    owner = (await create(collected.registry, place, decoded, Request("test"))).object
    here = await collected.create(CONFIGMAPS, owned("here"))
    for name, of in (("wrong", reference(owner)), ("typo", reference(here, name="another"))):
        obj = owned(name)
        obj["metadata"]["ownerReferences"] = [of]
        await collected.create(CONFIGMAPS, obj)
    await until_gone(collected, "wrong", "typo")
    uid = owner["metadata"]["uid"]
    named = f"[v1/ConfigMap, namespace: ns, name: owner, uid: {uid}]"
    text = f'ownerRef {named} does not exist in namespace "ns"'
    await until_told(collected)
    assert await reasons(collected) == [
        ("ConfigMap/wrong", "Warning", "OwnerRefInvalidNamespace", text)
    ]
    (event,) = await events(collected)
    assert event["source"] == {"component": "garbage-collector-controller"}


async def until_told(worker: Worker) -> None:
    async def told() -> bool:
        return bool(await events(worker))

    await worker.until_true(told)


@pytest.mark.parametrize("served", [True, False], ids=["served", "not served"])
async def test_an_event_is_about_the_version_that_discovery_prefers(
    collected: Worker, served: bool
) -> None:
    """Not about that in which the object is stored."""
    sent = definition(served=served, storage=False)
    (v1,) = sent["spec"]["versions"]
    sent["spec"]["versions"].append({**v1, "name": "v1beta1", "served": True, "storage": True})
    await collected.create(DEFINITIONS, sent)
    await collected.until(lambda: collected.serves(FOOS))
    place = replace(collected.scope(CONFIGMAPS), namespace="other")
    decoded, _ = place.decode(owned("owner"))
    owner = (await create(collected.registry, place, decoded, Request("test"))).object
    metadata = {"name": "wrong", "ownerReferences": [reference(owner)]}
    kind = {"apiVersion": "example.com/v1beta1", "kind": "Foo"}
    await collected.create_in(
        collected.scope(FOOS, version="v1beta1"), {**kind, "metadata": metadata}
    )
    await until_told(collected)
    (event,) = await events(collected)
    about = event["involvedObject"]
    version = "v1" if served else "v1beta1"
    assert (about["apiVersion"], about["kind"]) == (f"example.com/{version}", "Foo")


async def test_owners_that_never_were_are_noticed_at_once(collected: Worker) -> None:
    """No sweep: it comes after half a minute, and lets newborns alone."""
    owner = await collected.create(CONFIGMAPS, owned("owner"))
    wrong = {"name": "another"}, {"kind": "Secret"}, {"uid": "00000000-0000-4000-8000-000000000000"}
    for i, change in enumerate(wrong):
        obj = owned(f"wrong-{i}")
        obj["metadata"]["ownerReferences"] = [reference(owner, **change)]
        await collected.create(CONFIGMAPS, obj)
    await collected.create(CONFIGMAPS, owned("right", owner))
    await collected.create(CONFIGMAPS, owned("later"))
    dangling = [reference(owner, uid="00000000-0000-4000-8000-000000000000")]
    await collected.change(
        CONFIGMAPS, "later", lambda o: o["metadata"].update(ownerReferences=dangling)
    )
    await until_gone(collected, "wrong-0", "wrong-1", "wrong-2", "later")
    assert await owners(collected, "right") == ["owner"]


async def test_dependents_of_custom_resources_go_with_the_definition(collected: Worker) -> None:
    await collected.create(DEFINITIONS, definition())
    await collected.until(lambda: collected.serves(FOOS))
    foo = await collected.create(
        FOOS, {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "f"}}
    )
    obj = owned("dependent")
    kind = {"apiVersion": "example.com/v1", "kind": "Foo"}
    obj["metadata"]["ownerReferences"] = [reference(foo, **kind)]
    await collected.create(CONFIGMAPS, obj)
    await collected.delete(DEFINITIONS, "foos.example.com")
    await until_gone(collected, "dependent")
