"""The asynchronous reader: remembers for two seconds, shares queries, and tells tenants' tokens
apart."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from apiserver.storage.visibility import django_everywhere
from apiserver.user import User
from controlplane.tenancy import service, tokens
from controlplane.tenancy.directory import REMEMBERED, Directory
from controlplane.tenancy.models import ApiToken, Tenant


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Database:
    """Counts the queries that go to PostgreSQL."""

    def __init__(self, dsn: str) -> None:
        self.dsn, self.queries = dsn, 0

    async def fetch(self, sql: str, parameters: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        self.queries += 1
        async with await psycopg.AsyncConnection.connect(self.dsn, autocommit=True) as connection:
            cursor = await connection.execute(sql, list(parameters))
            return await cursor.fetchall()


@pytest.fixture(scope="module")
def tenants(postgres: str) -> tuple[Tenant, Tenant]:
    return service.create_tenant("directory-a", max_watches=7), service.create_tenant("directory-b")


def stored_token(number: int) -> ApiToken:
    with django_everywhere():
        return ApiToken.objects.get(pk=number)


@pytest.fixture
def database(owner: str) -> Database:
    return Database(owner)


async def test_tenant_is_found_and_remembered_for_two_seconds(
    database: Database, tenants: tuple[Tenant, Tenant]
) -> None:
    clock = Clock()
    directory = Directory(database.fetch, clock)
    found = await directory.tenant("directory-a")
    assert found is not None and (found.id, found.state, found.max_watches) == (
        tenants[0].pk,
        "active",
        7,
    )
    await directory.tenant("directory-a")
    assert database.queries == 1
    await sync_to_async(service.suspend)("directory-a")
    clock.now += REMEMBERED + 0.01
    found = await directory.tenant("directory-a")
    assert found is not None and found.state == "suspended"


async def test_absence_is_remembered_too_and_nul_costs_nothing(database: Database) -> None:
    directory = Directory(database.fetch, Clock())
    assert [await directory.tenant("nobody") for _ in range(3)] == [None] * 3
    assert await directory.tenant("a\0b") is None
    assert database.queries == 1


async def test_readers_that_miss_together_share_one_query(database: Database) -> None:
    directory = Directory(database.fetch, Clock())
    await asyncio.gather(*(directory.tenant("directory-b") for _ in range(20)))
    assert database.queries == 1


async def test_reader_that_leaves_does_not_take_the_others_along(
    database: Database, tenants: tuple[Tenant, Tenant]
) -> None:
    directory = Directory(database.fetch, Clock())
    leaver, stayer = (asyncio.create_task(directory.tenant("directory-b")) for _ in range(2))
    await asyncio.sleep(0)
    leaver.cancel()
    assert (await stayer) is not None


async def test_failed_query_is_not_remembered(tenants: tuple[Tenant, Tenant]) -> None:
    answers: list[Any] = [OSError("gone"), [(1, "x", "active", None, None)]]

    async def fetch(sql: str, parameters: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    directory = Directory(fetch, Clock())
    with pytest.raises(OSError, match="gone"):
        await directory.tenant("x")
    assert await directory.tenant("x") is not None


async def test_token_of_one_tenant_is_nothing_in_another(
    database: Database, tenants: tuple[Tenant, Tenant]
) -> None:
    new = await sync_to_async(tokens.create_token)(
        "ann", uid="u-1", groups=["dev", "ops"], tenant=tenants[0]
    )
    directory = Directory(database.fetch, Clock())
    assert await directory.token(new.secret, tenants[0].pk) == User(
        "ann", "u-1", ("dev", "ops", "system:authenticated")
    )
    assert await directory.token(new.secret, tenants[1].pk) is None
    assert await directory.token(new.secret + "x", tenants[0].pk) is None


async def test_token_without_tenant_is_good_everywhere(
    database: Database, tenants: tuple[Tenant, Tenant]
) -> None:
    new = await sync_to_async(tokens.create_token)("root", tenant=None)
    directory = Directory(database.fetch, Clock())
    assert [await directory.token(new.secret, t.pk) for t in tenants] == [
        User("root", groups=("system:authenticated",), everywhere=True)
    ] * 2


async def test_a_token_of_one_tenant_says_which_without_another_query(
    database: Database, tenants: tuple[Tenant, Tenant]
) -> None:
    clock = Clock()
    directory = Directory(database.fetch, clock)
    one = await sync_to_async(tokens.create_token)("ann", tenant=tenants[1])
    every = await sync_to_async(tokens.create_token)("root", tenant=None)
    for secret, home in ((one.secret, "directory-b"), (every.secret, "default")):
        assert await directory.home(secret) == home
        database.queries = 0
        assert await directory.token(secret, tenants[1].pk) is not None
        assert await directory.home(secret) == home
        assert database.queries == 0
    assert await directory.home("pp_unknown") == "default"
    await sync_to_async(tokens.revoke_token)(one.token.pk)
    clock.now += REMEMBERED + 0.01
    assert await directory.home(one.secret) == "default"


async def test_revoked_and_expired_tokens_end(
    database: Database, tenants: tuple[Tenant, Tenant]
) -> None:
    clock = Clock()
    directory = Directory(database.fetch, clock)
    revoked = await sync_to_async(tokens.create_token)("ann", tenant=None)
    expired = await sync_to_async(tokens.create_token)(
        "ann", tenant=None, lifetime=timedelta(seconds=-1)
    )
    assert await directory.token(revoked.secret, tenants[0].pk) is not None
    await sync_to_async(tokens.revoke_token)(revoked.token.pk)
    clock.now += REMEMBERED + 0.01
    assert await directory.token(revoked.secret, tenants[0].pk) is None
    assert await directory.token(expired.secret, tenants[0].pk) is None


async def test_use_is_noted_but_not_at_every_request(
    database: Database, tenants: tuple[Tenant, Tenant]
) -> None:
    clock = Clock()
    directory = Directory(database.fetch, clock)
    new = await sync_to_async(tokens.create_token)("ann", tenant=None)
    for _ in range(3):
        await directory.token(new.secret, tenants[0].pk)
        clock.now += REMEMBERED + 0.01
    assert database.queries == 3 + 1
    stored = await sync_to_async(stored_token)(new.token.pk)
    assert stored.last_used is not None and timezone.now() - stored.last_used < timedelta(minutes=1)


async def test_secret_is_not_in_the_database(tenants: tuple[Tenant, Tenant]) -> None:
    new = await sync_to_async(tokens.create_token)("ann", tenant=None)
    row = vars(await sync_to_async(stored_token)(new.token.pk))
    assert new.secret not in repr(row) and bytes(row["hash"]) == tokens.token_hash(new.secret)


async def test_what_is_remembered_is_what_would_be_found_out(
    database: Database, tenants: tuple[Tenant, Tenant]
) -> None:
    """Who sends it, and to which tenant, in every combination of a token and a tenant's name."""
    clock = Clock()
    directory = Directory(database.fetch, clock)

    def make(tenant: Tenant | None, days: int = 1) -> str:
        lifetime = timedelta(days=days)
        return tokens.create_token("ann", tenant=tenant, lifetime=lifetime).secret

    secrets = [
        *[await sync_to_async(make)(tenant) for tenant in (None, *tenants)],
        await sync_to_async(make)(tenants[0], days=-1),
        "pp_nobodys",
    ]
    names = ["", "directory-a", "directory-b", "nobody"]
    pairs = [(secret, name) for secret in secrets for name in names]
    assert not any(directory.remembered(*pair) for pair in pairs), "nothing was asked yet"
    expected = {}
    for secret, name in pairs:
        info = await directory.tenant(name or await directory.home(secret))
        user = await directory.token(secret, info.id) if info is not None else None
        expected[secret, name] = (info, user) if user is not None else None
    assert {pair: directory.remembered(*pair) for pair in pairs} == expected
    del expected[secrets[0], ""]  # of tenant default, which other tests may have made
    good = [(secrets.index(secret), name) for (secret, name), found in expected.items() if found]
    assert good == [
        *[(0, "directory-a"), (0, "directory-b"), (1, ""), (1, "directory-a")],
        *[(2, ""), (2, "directory-b")],
    ]
    clock.now += REMEMBERED + 0.01
    assert not any(directory.remembered(*pair) for pair in pairs), "not any longer than the others"
