"""Who stays and who goes, case by case.

======================================
=================================================================================== reference to an
owner that is           counts as ======================================
=================================================================================== there, not being
deleted                solid being deleted (finalizers, grace)       solid: it may still take a
while being deleted with Orphan               solid: the dependent loses the reference before the
owner goes being deleted in the foreground         waiting: keeps nobody absent, or its name has
another uid     dangling of another namespace                    dangling: owners are looked for in
the dependent's namespace named or typed otherwise than the uid   dangling: the object of that kind
and name is not it of a kind that is not served            unresolvable: the dependent is left
alone, whatever its other owners are namespaced, dependent cluster-scoped    unresolvable
======================================
===================================================================================

========================
=========================================================================================================
the dependent has         then ========================
=========================================================================================================
no reference at all       it stays any unresolvable          it stays as it is any solid it stays,
and loses its dangling and waiting references waiting, no solid         it is deleted: in the
foreground where it has dependents itself, else as the next line says dangling only it is deleted in
the background, or as the collector's finalizer says that is on it already ========================
=========================================================================================================

What is being deleted already is left alone, blockOwnerDeletion decides only whether an owner that
is deleted in the foreground waits for the dependent to be gone: that takes an explicit true.
Source: kubernetes ``pkg/controller/garbagecollector`` and its tests.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from apiserver.controllers.garbage import AT_ONCE
from apiserver.controllers.ownership import Identity
from tests.support.ownedworld import TENANT, World, uid_of

Reference = dict[str, Any]
NOBODY = uid_of(0xDEAD)


def _there(world: World, name: str, **more: Any) -> Reference:
    return world.reference(world.create(name, **more))


def _being_deleted(
    world: World, name: str, policy: str, finalizers: tuple[str, ...] = ("x/y",)
) -> Reference:
    uid = world.create(name, finalizers=list(finalizers))
    world.delete(uid, policy)
    return world.reference(uid)


def _absent(world: World, name: str) -> Reference:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": NOBODY}


def _recreated(world: World, name: str) -> Reference:
    return {**_there(world, name), "uid": NOBODY}


OWNERS: dict[str, tuple[str, Callable[[World, str], Reference]]] = {
    "there": ("solid", _there),
    "cluster-scoped": ("solid", lambda w, n: _there(w, n, kind="ClusterRole")),
    "held": ("solid", lambda w, n: _being_deleted(w, n, "Background")),
    "orphaning": ("solid", lambda w, n: _being_deleted(w, n, "Orphan")),
    "foreground": ("waiting", lambda w, n: _being_deleted(w, n, "Foreground", ())),
    "foreground, held": ("waiting", lambda w, n: _being_deleted(w, n, "Foreground")),
    "absent": ("dangling", _absent),
    "recreated": ("dangling", _recreated),
    "no uuid": ("dangling", lambda w, n: {**_there(w, n), "uid": "x" * 36}),
    "other namespace": ("dangling", lambda w, n: _there(w, n, namespace="other")),
    "other name": ("dangling", lambda w, n: {**_there(w, n), "name": "another"}),
    "other kind": ("dangling", lambda w, n: {**_there(w, n), "kind": "Secret"}),
    "unknown kind": (
        "unresolvable",
        lambda w, n: {**_absent(w, n), "apiVersion": "example.com/v1", "kind": "Widget"},
    ),
    "unknown version": ("unresolvable", lambda w, n: {**_there(w, n), "apiVersion": "v2"}),
    "not gettable": (
        "unresolvable",
        lambda w, n: {
            **_absent(w, n),
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
        },
    ),
}
PAIRS = [(a,) for a in OWNERS] + list(itertools.combinations(OWNERS, 2))


@pytest.mark.parametrize("parent", [False, True], ids=["leaf", "parent"])
@pytest.mark.parametrize("block", [True, False, None], ids=["blocking", "not blocking", "unset"])
@pytest.mark.parametrize("states", PAIRS, ids=" and ".join)
async def test_owners(states: tuple[str, ...], block: bool | None, parent: bool) -> None:
    world = World()
    references = [OWNERS[state][1](world, f"owner-{i}") for i, state in enumerate(states)]
    for i, reference in enumerate(references):
        reference["uid"] = reference["uid"] if reference["uid"] != NOBODY else uid_of(0xDEAD + i)
        reference.pop("blockOwnerDeletion", None)
        reference |= {} if block is None else {"blockOwnerDeletion": block}
    uid = world.create("dependent", *references)
    if parent:
        world.create("child", world.reference(uid))
    outcome = await world.collector().collect(TENANT, [uid])

    counts = [OWNERS[state][0] for state in states]
    solid = [r["uid"] for r, count in zip(references, counts, strict=True) if count == "solid"]
    if "unresolvable" in counts:
        assert outcome.stuck == {uid} and world.owners_of(uid) == [r["uid"] for r in references]
    elif solid:
        assert world.owners_of(uid) == solid and world.deleted == []
    else:
        policy = "Foreground" if parent and "waiting" in counts else "Background"
        assert world.deleted == [("dependent", policy)]
    assert not outcome.failed


@pytest.mark.parametrize(
    ("finalizer", "policy"),
    [("orphan", "Orphan"), ("foregroundDeletion", "Foreground"), ("x/y", "Background")],
)
async def test_garbage_is_deleted_as_its_finalizers_say(finalizer: str, policy: str) -> None:
    world = World()
    uid = world.create("a", _absent(world, "owner"), finalizers=[finalizer])
    await world.collector().collect(TENANT, [uid])
    assert world.deleted == [("a", policy)]


async def test_a_dependent_that_is_being_deleted_is_left_alone() -> None:
    world = World()
    uid = world.create("a", _absent(world, "owner"), finalizers=["x/y"])
    world.delete(uid)
    before = world.objects[uid]
    await world.collector().collect(TENANT, [uid])
    assert world.objects[uid] == before


async def test_a_cluster_scoped_object_never_follows_an_owner_in_a_namespace() -> None:
    world = World()
    uid = world.create("role", _absent(world, "owner"), kind="ClusterRole")
    assert (await world.collector().collect(TENANT, [uid])).stuck == {uid}


@pytest.mark.parametrize(
    ("change", "goes"), [({}, True), ({"name": "b"}, False), ({"kind": "ClusterRole"}, False)]
)
async def test_what_was_of_a_kind_that_is_gone_too_is_known_to_be_gone(
    change: dict[str, str], goes: bool
) -> None:
    world = World()
    reference = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "name": "a",
        "uid": NOBODY,
        **change,
    }
    uid = world.create("dependent", reference)
    outcome = await world.collector().owners_gone(
        TENANT, {NOBODY: Identity("example.com", "Widget", "ns", "a")}
    )
    assert (uid not in world.objects, outcome.stuck) == (goes, set() if goes else {uid})


@pytest.mark.parametrize("finalizers", [(), ("x/y",)], ids=["free", "held"])
@pytest.mark.parametrize("block", [True, False, None], ids=["blocking", "not blocking", "unset"])
async def test_an_owner_in_the_foreground_waits_for_those_that_block_it(
    block: bool | None, finalizers: tuple[str, ...]
) -> None:
    world = World()
    owner = world.create("owner")
    child = world.create("child", world.reference(owner, block=block), finalizers=list(finalizers))
    world.delete(owner, "Foreground")
    done = await world.collector().marked(TENANT, world.objects[owner].key)
    waits = bool(finalizers) and block is True
    assert (owner in world.objects, done) == (waits, not waits)
    assert (child in world.objects) == bool(finalizers)
    if finalizers:
        world.edit(child, lambda m: m.pop("finalizers"))
    await world.settle()
    assert world.names() == set()


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
async def test_policies_with_dependents_of_one_and_of_two_owners(policy: str) -> None:
    world = World()
    goes, stays = world.create("goes"), world.create("stays")
    only = world.create("only", world.reference(goes))
    both = world.create("both", world.reference(goes), world.reference(stays))
    world.create("grandchild", world.reference(only))
    world.delete(goes, policy)
    await world.settle()
    assert world.owners_of(both) == [stays]
    assert world.names() == {"stays", "both"} | (
        {"only", "grandchild"} if policy == "Orphan" else set()
    )
    if policy == "Orphan":
        assert world.owners_of(only) == []


async def test_a_dependent_that_may_not_be_deleted_keeps_no_other_but_its_owner() -> None:
    world = World()
    owner = world.create("owner")
    kept, _ = (
        world.create("kept", world.reference(owner)),
        world.create("other", world.reference(owner)),
    )
    world.forbidden.add(kept)
    world.delete(owner, "Foreground")
    await world.settle()
    assert world.names() == {"owner", "kept"}
    world.forbidden.clear()
    await world.settle()
    assert world.names() == set()


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("everything", [False, True], ids=["one deleted", "all deleted"])
async def test_circles_end(length: int, everything: bool) -> None:
    world = World()
    uids = [world.create(f"n{i}") for i in range(length)]
    for i, uid in enumerate(uids):
        owner = world.reference(uids[i - 1])
        world.edit(uid, lambda m, owner=owner: m.update(ownerReferences=[owner]))  # type: ignore[misc]
    for uid in uids if everything else uids[:1]:
        world.delete(uid, "Foreground")
    await world.settle()
    assert world.names() == set()


async def test_what_would_close_a_circle_stops_blocking_before_it_is_deleted() -> None:
    world = World()
    a = world.create("a")
    b = world.create("b", world.reference(a), world.reference(a, name="another", block=None))
    world.edit(a, lambda m: m.update(ownerReferences=[world.reference(b)]))
    world.delete(a, "Foreground")
    await world.collector().collect(TENANT, [b])
    assert [r.get("blockOwnerDeletion") for r in world.objects[b].metadata["ownerReferences"]] == [
        False,
        None,
    ]
    assert world.deleted == [("b", "Foreground")]


async def test_a_circle_that_nobody_deletes_stays() -> None:
    world = World()
    a = world.create("a")
    b = world.create("b", world.reference(a))
    world.edit(a, lambda m: m.update(ownerReferences=[world.reference(b)]))
    await world.settle()
    assert world.names() == {"a", "b"}


# --- what others do meanwhile ---------------------------------------------------------------------
async def test_an_owner_that_is_added_while_the_dependent_is_judged_keeps_it() -> None:
    world = World()
    stays = world.create("stays")
    uid = world.create("a", _absent(world, "owner"))
    world.before_change = lambda: world.edit(
        uid, lambda m: m["ownerReferences"].append(world.reference(stays))
    )
    await world.collector().collect(TENANT, [uid])
    assert world.owners_of(uid) == [stays]


async def test_references_that_are_taken_off_while_the_dependent_is_judged_save_it() -> None:
    world = World()
    uid = world.create("a", _absent(world, "owner"))
    world.before_change = lambda: world.edit(uid, lambda m: m.pop("ownerReferences"))
    await world.collector().collect(TENANT, [uid])
    assert world.names() == {"a"} and world.deleted == []


async def test_a_dependent_that_is_created_while_its_owner_is_orphaning_is_orphaned_too() -> None:
    world = World()
    owner = world.create("owner")
    reference = world.reference(owner)
    world.create("first", reference)
    world.delete(owner, "Orphan")
    world.before_change = lambda: world.create("second", reference) and None
    assert await world.collector().marked(TENANT, world.objects[owner].key)
    await world.settle()
    assert world.names() == {"first", "second"}


async def test_a_dependent_created_just_before_an_orphaning_owner_goes_is_orphaned_too() -> None:
    world = World()
    owner = world.create("owner")
    reference = world.reference(owner)
    world.delete(owner, "Orphan")
    world.before_change = lambda: (
        world.create("late", reference) and None
    )  # the next change takes off the owner's finalizer
    assert await world.collector().marked(TENANT, world.objects[owner].key)
    assert owner not in world.objects
    await world.settle()
    assert world.names() == {"late"}


async def test_an_object_of_the_same_name_has_nothing_to_do_with_the_one_that_went() -> None:
    world = World()
    owner = world.create("owner")
    reference = world.reference(owner)
    child = world.create("child", reference)
    world.delete(owner)
    world.create("owner")
    await world.collector().owners_gone(TENANT, {owner: world.gone[owner]})
    assert child not in world.objects and world.names() == {"owner"}


# --- many -----------------------------------------------------------------------------------------
async def test_the_effort_grows_with_the_number_of_dependents_and_no_faster() -> None:
    count = 10_000
    world = World()
    owner = world.create("owner")
    reference = world.reference(owner)
    uids = [world.create(f"d{i}", reference) for i in range(count)]
    world.delete(owner)
    await world.collector().owners_gone(TENANT, {owner: world.gone[owner]})
    assert not world.objects and len(uids) == count
    assert world.calls == {
        "dependents": 1,
        "items": count / AT_ONCE,
        "owners": count / AT_ONCE,
        "delete": count,
    }


async def test_an_object_with_very_many_owners_is_judged_in_a_moment() -> None:
    count = 174_000
    world = World()
    solid = world.create("solid")
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": f"o{i}", "uid": uid_of(1_000_000 + i)}
        for i in range(count)
    ]
    uid = world.create("a", *references, world.reference(solid))
    began = time.process_time()
    await world.collector().collect(TENANT, [uid])
    assert time.process_time() - began < 20, (
        "seconds of processor time; comparing all with all takes hours"
    )
    assert world.owners_of(uid) == [solid]
