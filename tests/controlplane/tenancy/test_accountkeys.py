"""Rotating the keys of service account tokens: two workers with one database, each with a memory of
its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import jwt
import pytest
from django.core.management import call_command
from django.utils import timezone

from apiserver.authn import openid
from apiserver.authn.accountclaims import Ref, Refused
from apiserver.authn.accountkeys import FOREVER
from apiserver.authn.serviceaccounts import AccountTokens
from apiserver.authn.signing import ES256, RS256
from apiserver.storage.postgres import PostgresStore
from controlplane.errors import OperatorError
from controlplane.tenancy import accountkeys
from controlplane.tenancy.accountkeys import REMEMBERED, StoredKeys
from controlplane.tenancy.fetching import fetcher
from controlplane.tenancy.models import KeyGeneration
from controlplane.tenancy.service import create_tenant, delete_tenant
from tests.support.fixtures import in_thread, store

__all__ = ["store"]
ACCOUNT = {"metadata": {"namespace": "ns", "name": "robot", "uid": "u1"}}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Worker:
    def __init__(self, store: PostgresStore, clock: Clock) -> None:
        keys = StoredKeys(fetcher(store), clock)
        self.tokens = AccountTokens(b"secret", store=keys)

    async def issue(self, tenant: tuple[int, str], seconds: int = 3600) -> str:
        audiences, now = [self.tokens.issuer(tenant[1])], datetime.now(UTC)
        return await self.tokens.issue(tenant, ACCOUNT, audiences, {}, seconds, now)

    async def takes(self, tenant: tuple[int, str], token: str) -> bool:
        try:
            return await self.tokens.recognize(tenant, token) is not None
        except Refused:
            return False


@pytest.fixture
def tenant(postgres: str) -> Iterator[tuple[int, str]]:
    made = create_tenant("rotated")
    yield made.pk, "rotated"
    delete_tenant("rotated")
    KeyGeneration.objects.filter(number__gt=0).delete()
    KeyGeneration.objects.update(retired_at=None, lasts=0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def two(store: PostgresStore, clock: Clock) -> tuple[Worker, Worker]:
    return Worker(store, clock), Worker(store, clock)


async def rotated(clock: Clock, algorithm: str, after: int = 0) -> int:
    number: int = (await in_thread(lambda: accountkeys.rotate(algorithm, after))).number
    clock.now += REMEMBERED
    return number


def algorithm_of(token: str) -> Any:
    return jwt.get_unverified_header(token)["alg"]


@pytest.mark.parametrize("algorithm", [ES256, RS256])
async def test_tokens_of_both_generations_are_good_everywhere(
    tenant: tuple[int, str], two: tuple[Worker, Worker], clock: Clock, algorithm: str
) -> None:
    here, there = two
    old = await here.issue(tenant)
    assert await here.takes(tenant, old) and await there.takes(tenant, old)
    await rotated(clock, algorithm)
    new = await here.issue(tenant)
    assert (algorithm_of(old), algorithm_of(new)) == (ES256, algorithm)
    for worker in two:
        assert await worker.takes(tenant, old) and await worker.takes(tenant, new)
    assert algorithm_of(await there.issue(tenant)) == algorithm
    ring = await there.tokens.keys.whole_ring(tenant[0])
    published = {k["kid"]: k for k in openid.key_set(ring)["keys"]}
    assert next(iter(published)) == jwt.get_unverified_header(new)["kid"]
    for token in (old, new):  # as a relying party does, with what is published alone
        key = jwt.PyJWK(published[jwt.get_unverified_header(token)["kid"]])
        issuer = here.tokens.issuer(tenant[1])
        assert jwt.decode(token, key, audience=issuer, issuer=issuer)["sub"]
    document = openid.configuration("https://i", "https://k", ring)
    assert document["id_token_signing_alg_values_supported"] == sorted({ES256, algorithm})


async def test_keys_that_cannot_be_derived_are_each_tenants_own(
    tenant: tuple[int, str], two: tuple[Worker, Worker], clock: Clock, owner: str
) -> None:
    here, there = two
    await rotated(clock, RS256)
    other = (await in_thread(lambda: create_tenant("rotated-too"))).pk, "rotated"
    try:
        token = await here.issue(tenant)
        assert not await there.takes(other, token), "the same name and another number"
        assert await there.takes(tenant, token)
        mine, theirs = [await w.tokens.keys.whole_ring(other[0]) for w in two]
        assert mine.keys.keys() == theirs.keys.keys(), "both workers have the one that was first"
    finally:
        await in_thread(lambda: delete_tenant("rotated-too"))


async def test_nobody_makes_a_key_who_only_shows_a_token(
    tenant: tuple[int, str], two: tuple[Worker, Worker], clock: Clock
) -> None:
    here, there = two
    old = await here.issue(tenant)
    await rotated(clock, RS256)
    assert await there.takes(tenant, old)
    assert not (await there.tokens.keys.ring(tenant[0])).whole


async def test_keys_are_published_before_they_sign(
    tenant: tuple[int, str], two: tuple[Worker, Worker], clock: Clock
) -> None:
    here, _ = two
    number = await rotated(clock, RS256, after=3600)
    assert algorithm_of(await here.issue(tenant)) == ES256
    ring = await here.tokens.keys.whole_ring(tenant[0])
    assert [key.algorithm for key in ring.keys.values()] == [ES256, RS256]
    moment = timezone.now() - timedelta(seconds=1)
    await in_thread(
        lambda: KeyGeneration.objects.filter(pk=number).update(signs_from=moment) and None
    )
    clock.now += REMEMBERED
    assert algorithm_of(await here.issue(tenant)) == RS256


async def test_a_retired_key_verifies_nothing_that_is_remembered_either(
    tenant: tuple[int, str], two: tuple[Worker, Worker], clock: Clock
) -> None:
    here, there = two
    old = await here.issue(tenant)
    assert await there.takes(tenant, old)
    await rotated(clock, ES256)
    new = await here.issue(tenant)
    with pytest.raises(OperatorError, match="still good: until"):
        await in_thread(lambda: accountkeys.retire(0))
    await in_thread(lambda: accountkeys.retire(0, force=True))
    clock.now += REMEMBERED
    for worker in two:
        assert not await worker.takes(tenant, old) and await worker.takes(tenant, new)


async def test_a_generation_ends_with_its_last_token(
    tenant: tuple[int, str], two: tuple[Worker, Worker], clock: Clock
) -> None:
    here, there = two
    token = await here.issue(tenant)
    await here.issue(tenant, 400 * 86_400)
    first = await in_thread(lambda: KeyGeneration.objects.get(pk=0))
    days = (first.lasts - datetime.now(UTC).timestamp()) / 86_400
    assert 400 < days < 403
    await rotated(clock, ES256)
    await there.issue(tenant)
    long_ago = int(datetime.now(UTC).timestamp()) - 2 * 86_400
    await in_thread(lambda: KeyGeneration.objects.filter(pk=0).update(lasts=long_ago) and None)
    clock.now += REMEMBERED
    assert not await here.takes(tenant, token)
    assert len((await here.tokens.keys.whole_ring(tenant[0])).keys) == 1


async def test_tokens_in_secrets_keep_their_generation(
    tenant: tuple[int, str], two: tuple[Worker, Worker], clock: Clock
) -> None:
    here, there = two
    legacy = await here.tokens.issue_legacy(tenant, "ns", Ref("robot", "u1"), "s")
    await rotated(clock, RS256)
    assert await there.takes(tenant, legacy)
    assert (await in_thread(lambda: KeyGeneration.objects.get(pk=0))).lasts == FOREVER


def command(*args: str) -> Any:
    out = StringIO()
    call_command("rotate_keys", *args, "-o", "json", stdout=out)
    return json.loads(out.getvalue())


def test_the_command(tenant: tuple[int, str]) -> None:
    assert [g["state"] for g in command("--list")] == ["signs"]
    made = command("--algorithm", "RS256", "--sign-after", "0")
    assert (made["algorithm"], made["state"]) == ("RS256", "published")
    with pytest.raises(OperatorError, match="signs, or will"):
        command("--retire", "0")
    with pytest.raises(OperatorError, match="no generation 99"):
        command("--retire", "99")
    before = timezone.now() - timedelta(seconds=60)
    KeyGeneration.objects.filter(pk=made["generation"]).update(signs_from=before)
    assert [g["state"] for g in command("--list")] == ["ended", "signs"]
    assert command("--retire", "0")["state"] == "retired"
    out = StringIO()
    call_command("rotate_keys", "--list", stdout=out)
    assert "RS256" in out.getvalue() and "none was signed" in out.getvalue()
