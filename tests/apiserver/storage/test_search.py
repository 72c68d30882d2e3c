"""The search index beside the log: what it is true of, and what becomes of it."""

from __future__ import annotations

import importlib
import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connections

from apiserver.meta.gvk import GroupResource
from apiserver.search.indexer import Indexer
from apiserver.storage import search as searching
from apiserver.storage import tenants
from apiserver.storage.compact import compact
from apiserver.storage.interface import Write
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.search import BEGINNING, Entry, Found, Where, Words
from controlplane.database import OWNER
from tests.support.fixtures import in_thread
from tests.support.storage import CONFIGMAPS, LEASES, create, delete, key, numbers, update
from tests.support.tlssecrets import certificate, secret

ALL = Where([CONFIGMAPS, LEASES], [])
ENTRIES = "SELECT count(*) FROM search_entries WHERE tenant_id = %s"


async def found(
    store: PostgresStore,
    tenant: int,
    exact: str | None,
    where: Where = ALL,
    easy: str | None = None,
    **more: Any,
) -> Found:
    asked = {"limit": 100, "max_bytes": 2**20, **more}
    words = None if exact is None else Words(exact, easy)
    answer = await store.search.find(tenant, words, where, BEGINNING, **asked)
    assert answer is not None
    return answer


def names(answer: Found) -> list[str]:
    return [record.key.name for record in answer.records]


def count(owner: str, statement: str, tenant: int) -> int:
    with psycopg.connect(owner) as connection:
        row = connection.execute(statement, [tenant]).fetchone()
        assert row is not None
        return int(row[0])


async def index(store: PostgresStore, tenant: int) -> None:
    assert await Indexer(store).index(tenant, 100)


async def written(store: PostgresStore, tenant: int, *items: str) -> None:
    for name in items:
        await store.write(tenant, create(key(name), f"value {name}"))


async def test_kinds_and_namespaces_that_there_are(store: PostgresStore, tenant: int) -> None:
    for namespace in ("b", "a", "a-b"):
        for name in ("x", "y"):
            await store.write(tenant, create(key(name, namespace)))
    await store.write(tenant, create(key("x", "", LEASES)))
    assert await store.search.kinds(tenant) == [CONFIGMAPS, LEASES]
    assert await store.search.kinds(next(numbers)) == []
    places = [(CONFIGMAPS, "a"), (CONFIGMAPS, "a-b"), (CONFIGMAPS, "b"), (LEASES, "")]
    assert await store.search.namespaces(tenant, [CONFIGMAPS, LEASES], 10) == places
    assert await store.search.namespaces(tenant, [CONFIGMAPS, LEASES], 2) == places[:2]


async def test_what_is_not_indexed_is_a_candidate_and_what_is_has_the_words(
    store: PostgresStore, tenant: int
) -> None:
    await written(store, tenant, "a", "b")
    words = f"'{tenant}vb'"
    assert names(await found(store, tenant, words)) == ["a", "b"]
    await index(store, tenant)
    assert names(await found(store, tenant, words)) == ["b"]
    await written(store, tenant, "c")
    assert names(await found(store, tenant, words)) == ["b", "c"]
    assert names(await found(store, tenant, None)) == ["a", "b", "c"]
    assert names(await found(store, tenant, words, Where([LEASES], []))) == []
    assert names(await found(store, tenant, None, Where([], [(CONFIGMAPS, "default")]))) == [
        "a",
        "b",
        "c",
    ]
    assert names(await found(store, tenant, None, Where([], [(CONFIGMAPS, "other")]))) == []


@pytest.mark.parametrize("walk", [1, 3, 100])
async def test_walking_and_asking_gin_find_the_same(
    store: PostgresStore, tenant: int, walk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "WALK", walk)
    every = [f"n{i}" for i in range(8)]
    await written(store, tenant, *every)
    await index(store, tenant)
    for limit in range(1, 9):
        answer = await found(store, tenant, f"'{tenant}vvalue'", limit=limit)
        assert names(answer) == every[:limit]
        assert answer.through == key(every[limit - 1])
    assert names(await found(store, tenant, f"'{tenant}vn':*")) == every
    assert names(await found(store, tenant, f"'{tenant}vn7'")) == ["n7"]


@pytest.mark.parametrize("walk", [1, 2, 100])
async def test_an_easier_query_finds_what_the_exact_one_does(
    store: PostgresStore, tenant: int, walk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "WALK", walk)
    await written(store, tenant, *(f"n{i}" for i in range(10, 30)))
    await index(store, tenant)
    for words, those in (
        ("n1", range(10, 20)),  # many, of many
        ("n2", range(20, 30)),
        ("n27", [27]),  # one of many
        ("n3", []),
    ):
        exact = f"'{tenant}vvalue' & '{tenant}v{words}':*"
        for easy in f"'{tenant}vvalue'", f"'{tenant}v{words}':*", None:
            answer = await found(store, tenant, exact, easy=easy)
            assert names(answer) == [f"n{i}" for i in those], (words, easy)


async def test_an_object_that_changed_or_went(store: PostgresStore, tenant: int) -> None:
    await written(store, tenant, "a", "b")
    await index(store, tenant)
    a, b = [await store.get(tenant, key(name)) for name in ("a", "b")]
    assert a is not None and b is not None
    await store.write(tenant, update(a, "other"))
    await store.write(tenant, delete(b))
    for _ in range(2):
        assert names(await found(store, tenant, f"'{tenant}vother'")) == ["a"]
        await index(store, tenant)
    assert names(await found(store, tenant, f"'{tenant}vvalue'")) == []


async def test_one_that_came_again_keeps_its_entry(
    store: PostgresStore, tenant: int, owner: str
) -> None:
    await written(store, tenant, "a")
    await index(store, tenant)
    old = await store.get(tenant, key("a"))
    assert old is not None
    await store.write(tenant, delete(old))
    after, entries = await store.search.written(tenant, limit=1, max_bytes=2**20)
    await written(store, tenant, "a")
    assert await store.search.index(tenant, after, entries[-1].version, [Entry(key("a"), None)])
    assert count(owner, ENTRIES, tenant) == 1
    await index(store, tenant)
    assert names(await found(store, tenant, f"'{tenant}va'")) == ["a"]


async def test_only_who_goes_on_from_where_it_stands_changes_it(
    store: PostgresStore, tenant: int
) -> None:
    await written(store, tenant, "a")
    after, entries = await store.search.written(tenant, limit=9, max_bytes=2**20)
    through = entries[-1].version
    terms = [Entry(key("a"), f"{tenant}vfirst")]
    assert await store.search.index(tenant, after, through, terms)
    assert not await store.search.index(tenant, after, through, [Entry(key("a"), f"{tenant}vlate")])
    assert names(await found(store, tenant, f"'{tenant}vfirst'")) == ["a"]


async def test_the_log_is_read_in_parts(store: PostgresStore, tenant: int) -> None:
    await written(store, tenant, "a", "b", "c")
    assert len((await store.search.written(tenant, limit=2, max_bytes=2**20))[1]) == 2
    assert len((await store.search.written(tenant, limit=9, max_bytes=1))[1]) == 1
    assert not await Indexer(store).index(tenant, 0)


async def test_what_went_while_nobody_looked(store: PostgresStore, tenant: int, owner: str) -> None:
    await written(store, tenant, "a", "b")
    await index(store, tenant)
    old = await store.get(tenant, key("a"))
    assert old is not None
    await store.write(tenant, delete(old))
    await written(store, tenant, "c")
    await compact(store.database, tenant, await store.head(tenant))
    await index(store, tenant)
    assert count(owner, ENTRIES, tenant) == 2


async def test_tenants_that_are_behind(store: PostgresStore, tenant: int) -> None:
    async def is_behind() -> bool:
        return tenant in await store.search.behind(1_000_000)

    assert not await is_behind(), "there is nothing to index"
    await written(store, tenant, "a")
    assert await is_behind()
    await index(store, tenant)
    assert not await is_behind()
    await written(store, tenant, "b")
    assert await is_behind()


async def test_a_tenant_that_goes_takes_its_index_with_it(store: PostgresStore, owner: str) -> None:
    number = next(numbers)
    await in_thread(lambda: tenants.create(number))
    await written(store, number, "a")
    await index(store, number)
    await in_thread(lambda: tenants.drop(number))
    for table in ("search_entries", "search_heads"):
        statement = f"SELECT count(*) FROM {table} WHERE tenant_id = %s"
        assert count(owner, statement, number) == 0
    assert not await store.search.index(number, 0, 1, [Entry(key("a"), "x")])


ENDS = (
    "SELECT count(*) FROM search_entries WHERE tenant_id = %s AND ends = '2030-01-02 03:04:05+00'"
)
SECRET = key("a", resource=GroupResource("", "secrets"))


def tls(ends: datetime, version: int | None = None, uid: str = "") -> Write:
    """The creation of a Secret, or the update of that version of it."""
    content = json.dumps(secret("a", certificate(ends))).encode()
    if version is None:
        return Write("create", SECRET, str(uuid4()), content)
    return Write("update", SECRET, uid, content, expected=version)


async def test_when_a_certificate_ends_is_known_and_follows_its_secret(
    store: PostgresStore, tenant: int, owner: str
) -> None:
    first, renewed = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC)
    await store.write(tenant, tls(first))
    await written(store, tenant, "b")
    await index(store, tenant)
    assert count(owner, ENDS, tenant) == 1
    assert count(owner, f"{ENTRIES} AND ends IS NULL", tenant) == 1
    old = await store.get(tenant, SECRET)
    assert old is not None
    await store.write(tenant, tls(renewed, old.resource_version, old.uid))
    await index(store, tenant)
    assert count(owner, ENDS, tenant) == 0, "though its words are the same"
    assert count(owner, f"{ENTRIES} AND ends = '2031-01-01 00:00:00+00'", tenant) == 1


def from_before() -> None:
    migration = importlib.import_module("apiserver.storage.migrations.0018_certificate_ends")
    with connections[OWNER].schema_editor() as editor:
        migration.anew(None, editor)


async def test_certificates_from_before_are_indexed_anew(
    store: PostgresStore, tenant: int, owner: str
) -> None:
    """Of tenants that have some, and of no other."""
    other = next(numbers)
    await in_thread(lambda: tenants.create(other))
    await written(store, other, "b")
    await store.write(tenant, tls(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)))
    for number in (tenant, other):
        await index(store, number)
    with psycopg.connect(owner) as connection:
        connection.execute("UPDATE search_entries SET ends = NULL WHERE tenant_id = %s", [tenant])
    await in_thread(from_before)
    behind = await store.search.behind(1_000_000)
    assert tenant in behind and other not in behind
    await index(store, tenant)
    assert count(owner, ENDS, tenant) == 1
    await in_thread(lambda: tenants.drop(other))


async def test_it_gives_up_what_takes_too_long(
    store: PostgresStore, tenant: int, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_SECONDS", 0.1)
    with psycopg.connect(owner) as other, other.transaction(force_rollback=True):
        other.execute("LOCK TABLE search_entries IN ACCESS EXCLUSIVE MODE")
        asked: dict[str, Any] = {"limit": 1, "max_bytes": 1}
        assert await store.search.find(tenant, None, ALL, BEGINNING, **asked) is None
    monkeypatch.undo()
    assert await store.search.find(tenant, None, ALL, BEGINNING, **asked) is not None


async def test_commits_do_not_wait_for_the_index(
    store: PostgresStore, tenant: int, owner: str
) -> None:
    await written(store, tenant, "a")
    await index(store, tenant)
    with psycopg.connect(owner) as other, other.transaction(force_rollback=True):
        other.execute("SELECT set_config('polyplane.tenant', %s, true)", [str(tenant)])
        other.execute(
            "SELECT done FROM pp_index_entries(%s,"
            " (SELECT indexed FROM search_heads WHERE tenant_id = %s), 9,"
            " '{}', '{}', '{}', '{}', '{}', '{}')",
            [tenant, tenant],
        )
        await written(store, tenant, "b")
    assert await store.get(tenant, key("b")) is not None
