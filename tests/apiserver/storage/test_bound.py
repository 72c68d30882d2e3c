"""Whom bindings name (bound_subjects) is true of the objects after each write, in all tenants."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connections
from psycopg.sql import SQL, Identifier

from apiserver.meta.gvk import GroupResource
from apiserver.storage import tenants
from apiserver.storage.errors import KeyExists, Stale
from apiserver.storage.interface import ObjectKey, Write
from apiserver.storage.models import BoundSubject
from apiserver.storage.postgres import PostgresStore
from controlplane.database import OWNER
from tests.support.fixtures import in_thread, looking
from tests.support.storage import key, numbers

GROUP = "rbac.authorization.k8s.io"
BINDINGS = GroupResource(GROUP, "rolebindings")
CLUSTER_BINDINGS = GroupResource(GROUP, "clusterrolebindings")


def user(name: str) -> dict[str, str]:
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def group(name: str) -> dict[str, str]:
    return {"kind": "Group", "apiGroup": GROUP, "name": name}


def account(name: str, namespace: str = "") -> dict[str, str]:
    """namespace "": the binding's own."""
    place = {"namespace": namespace} if namespace else {}
    return {"kind": "ServiceAccount", "name": name, **place}


def within(name: str, namespace: str = "ns") -> ObjectKey:
    return key(name, namespace, BINDINGS)


def wide(name: str) -> ObjectKey:
    return key(name, "", CLUSTER_BINDINGS)


def binds(
    place: ObjectKey, *subjects: Any, expected: int = 0, uid: str = "", **metadata: Any
) -> Write:
    body = {"kind": "X", "metadata": {"name": place.name, **metadata}, "subjects": list(subjects)}
    data, uid = json.dumps(body).encode(), uid or str(uuid4())
    if expected:
        return Write("update", place, uid, data, expected=expected)
    return Write("create", place, uid, data)


async def named(*numbers: int) -> list[str]:
    """The subjects of all bindings of the tenants, as often as they are bound."""
    rows = BoundSubject.objects.filter(tenant_id__in=numbers)
    return sorted(await looking(lambda: list(rows.values_list("subject", flat=True))))


async def test_each_subject_is_kept_once_for_a_binding(store: PostgresStore, tenant: int) -> None:
    await store.write(tenant, binds(within("a"), user("eve"), group("dev"), user("eve")))
    await store.write(tenant, binds(wide("b"), user("eve"), account("bot", "ns")))
    await store.write(tenant, binds(within("c"), account("here"), account("there", "other")))
    assert await named(tenant) == [
        "Group:dev",
        "ServiceAccount:ns:bot",
        "ServiceAccount:ns:here",
        "ServiceAccount:other:there",
        "User:eve",
        "User:eve",
    ]


async def test_what_every_tenant_grants_makes_nobody_its_user(
    store: PostgresStore, tenant: int
) -> None:
    everybody = (group("system:authenticated"), group("system:unauthenticated"))
    own = (group("system:masters"), user("system:kube-scheduler"), account("gc", "kube-system"))
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    await store.write(tenant, binds(wide("a"), *everybody, *own, user("bob"), labels=labels))
    await store.write(tenant, binds(wide("b"), *everybody, account("gc", "kube-system")))
    await store.write(tenant, binds(wide("polyplane:owners"), user("owner")))
    await store.write(tenant, binds(within("polyplane:owners"), user("reader")))
    assert await named(tenant) == ["ServiceAccount:kube-system:gc", "User:bob", "User:reader"]


@pytest.mark.parametrize(
    "subjects",
    [None, {}, "x", [], [None], ["x"], [{}], [{"kind": "User"}], [user("")], [user("é" * 513)]],
)
async def test_what_names_nobody_is_stored_all_the_same(
    store: PostgresStore, tenant: int, subjects: Any
) -> None:
    body = json.dumps({"metadata": {}, "subjects": subjects}).encode()
    assert await store.write(tenant, Write("create", wide("a"), str(uuid4()), body))
    await store.write(tenant, binds(wide("b"), user("é" * 512)))
    assert await named(tenant) == [f"User:{'é' * 512}"]


async def test_updates_and_deletes_are_followed(store: PostgresStore, tenant: int) -> None:
    first = binds(within("a"), user("eve"), user("bob"))
    version = await store.write(tenant, first)
    changed = binds(within("a"), user("bob"), group("dev"), expected=version, uid=first.uid)
    version = await store.write(tenant, changed)
    assert await named(tenant) == ["Group:dev", "User:bob"]
    again = binds(within("a"), user("amy"), expected=version)
    assert again.uid != first.uid
    version = await store.write(tenant, again)
    assert await named(tenant) == ["User:amy"]
    await store.write(tenant, Write("delete", again.key, again.uid, again.data, expected=version))
    assert await named(tenant) == []
    await store.write(tenant, binds(within("a"), user("eve"), uid=first.uid))
    assert await named(tenant) == ["User:eve"]


async def test_a_write_that_is_refused_binds_nobody(store: PostgresStore, tenant: int) -> None:
    await store.write(tenant, binds(within("a"), user("eve")))
    done = await asyncio.gather(
        *(store.write(tenant, binds(within("a"), user(f"u{i}"))) for i in range(20)),
        store.write(tenant, binds(within("a"), user("late"), expected=1)),
        return_exceptions=True,
    )
    assert all(isinstance(outcome, KeyExists) for outcome in done[:-1])
    assert isinstance(done[-1], Stale)
    assert await named(tenant) == ["User:eve"]


async def test_many_writes_at_once(store: PostgresStore, tenant: int) -> None:
    writes = [binds(within(f"b{i}"), user(f"u{i}"), user("all")) for i in range(200)]
    await asyncio.gather(*(store.write(tenant, write) for write in writes))
    expected = sorted([f"User:u{i}" for i in range(200)] + ["User:all"] * 200)
    assert await named(tenant) == expected


async def test_other_objects_bind_nobody(store: PostgresStore, tenant: int) -> None:
    for resource in (
        GroupResource(GROUP, "roles"),
        GroupResource("example.com", "rolebindings"),
        GroupResource("", "configmaps"),
    ):
        await store.write(tenant, binds(key("a", "ns", resource), user("eve")))
    assert await named(tenant) == []


async def test_tenants_that_go_leave_nobody(store: PostgresStore, postgres: str) -> None:
    some, whole = next(numbers), next(numbers)
    await in_thread(lambda: tenants.create(some, whole))
    for number in (some, whole):
        await store.write(number, binds(wide("a"), *map(user, "abcdefg")))
    assert len(await named(some, whole)) == 14
    left = []
    while await in_thread(lambda: tenants.drop_some(some, 3)):
        left.append(len(await named(some)))
    assert left[:3] == [4, 1, 0]
    await in_thread(lambda: tenants.drop(whole))
    assert await named(some, whole) == []
    await in_thread(lambda: tenants.drop(some))


async def test_a_binding_of_ten_thousand_is_kept_within_the_time_of_a_write(
    store: PostgresStore, tenant: int
) -> None:
    """Work that grew with its square would take minutes, and storage ends a write after seconds."""
    many = [user(f"user-{i:05}") for i in range(10_000)]

    first = binds(wide("a"), *many)
    version = await store.write(tenant, first)
    assert len(await named(tenant)) == 10_000
    half = [*many[::2], *(user(f"new-{i:05}") for i in range(5_000))]
    other = binds(wide("a"), *half, expected=version, uid=first.uid)
    version = await store.write(tenant, other)
    assert len(await named(tenant)) == 10_000
    same = binds(wide("a"), *half, expected=version, uid=first.uid)
    version = await store.write(tenant, same)
    gone = Write("delete", first.key, first.uid, first.data, expected=version)
    await store.write(tenant, gone)
    assert await named(tenant) == []


async def test_workers_keep_it_before_they_are_granted_the_table(
    store: PostgresStore, owner: str, postgres: str, tenant: int
) -> None:
    """So it is while a migration is under way: grants come at its end."""
    role = Identifier(str(psycopg.conninfo.conninfo_to_dict(postgres)["user"]))
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(SQL("REVOKE ALL ON bound_subjects FROM {}").format(role))
        try:
            await store.write(tenant, binds(within("a"), user("eve")))
        finally:
            rights = SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON bound_subjects TO {}")
            connection.execute(rights.format(role))
    assert await named(tenant) == ["User:eve"]


def gather() -> None:
    migration = importlib.import_module("apiserver.storage.migrations.0016_gather_bound_subjects")
    with connections[OWNER].schema_editor(atomic=False) as editor:
        migration.gather(None, editor)


def drop_all(numbers: Iterable[int]) -> None:
    for number in numbers:
        tenants.drop(number)


async def test_bindings_from_before_are_gathered(
    store: PostgresStore, owner: str, postgres: str
) -> None:
    before = [next(numbers) for _ in range(3)]
    await in_thread(lambda: tenants.create(*before))
    for number in before:
        await store.write(number, binds(within("a"), user("eve"), account("bot")))
        await store.write(number, binds(wide("polyplane:owners"), user("owner")))
        await store.write(number, binds(key("c", "ns", GroupResource(GROUP, "roles")), user("no")))
    kept = await named(*before)
    with psycopg.connect(owner, autocommit=True) as connection, connection.transaction():
        connection.execute("SET LOCAL polyplane.tenant = 'all'")
        connection.execute("DELETE FROM bound_subjects WHERE tenant_id = ANY(%s)", [before[:2]])
    assert len(await named(*before)) == 2
    for _ in range(2):  # and once more, as after an interruption
        await in_thread(gather)
        assert await named(*before) == kept
    assert kept == ["ServiceAccount:ns:bot"] * 3 + ["User:eve"] * 3
    await in_thread(lambda: drop_all(before))


async def test_gathering_and_writers_of_a_tenant_wait_for_each_other(
    store: PostgresStore, owner: str, tenant: int
) -> None:
    """Who gathers reads no binding that somebody is about to change."""
    first = binds(wide("a"), user("eve"))
    version = await store.write(tenant, first)
    with psycopg.connect(owner) as connection:
        connection.execute("SELECT pp_bind_tenant(%s)", [tenant])
        changed = binds(wide("a"), user("bob"), expected=version, uid=first.uid)
        writing = asyncio.create_task(store.write(tenant, changed))
        done, _ = await asyncio.wait([writing], timeout=0.3)
        assert not done
        connection.commit()
    await writing
    assert await named(tenant) == ["User:bob"]
