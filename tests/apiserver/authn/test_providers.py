"""A provider is asked no more than it has to be, and what it says is not believed blindly."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.authn import jose
from apiserver.authn.accountclaims import Refused
from apiserver.authn.jose import Unsigned, parse
from apiserver.authn.providers import (
    FRESH,
    MOST_TRIED,
    RENEWED,
    SOONEST,
    WAITING,
    Provider,
    Unreachable,
)
from tests.support.oidctokens import (
    OTHER,
    URL,
    Clock,
    World,
    ec_key,
    jwk,
    one,
    rsa_key,
    token,
)
from tests.support.waiting import until


@pytest.fixture
async def world() -> AsyncIterator[World]:
    yield World(jwk(rsa_key()), jwk(ec_key(), "e"))


def provider(world: World) -> tuple[Provider, Clock]:
    clock = Clock(1000.0)
    return Provider(one().issuer, world.fetch, clock), clock


def unsigned(text: str) -> Unsigned:
    found = parse(text)
    assert found is not None
    return found


async def test_a_flood_of_unknown_keys_asks_the_provider_once(world: World) -> None:
    held, clock = provider(world)
    await held.verify(unsigned(token()))
    before = len(world.asked)
    for i in range(300):
        with pytest.raises(Refused):
            await held.verify(unsigned(token(kid=f"made-up-{i}")))
    assert len(world.asked) == before
    clock.now += SOONEST
    flood = [held.verify(unsigned(token(kid=f"made-up-{i}"))) for i in range(300)]
    results = await asyncio.gather(*flood, return_exceptions=True)
    assert all(isinstance(r, Refused) for r in results)
    assert world.asked[before:] == [f"{URL}/keys"]


async def test_a_provider_that_hangs_keeps_few_waiting(world: World) -> None:
    held, clock = provider(world)
    await held.verify(unsigned(token()))
    clock.now += SOONEST
    world.gate.clear()
    flood = [
        asyncio.create_task(held.verify(unsigned(token(kid=f"made-up-{i}"))))
        for i in range(WAITING + 50)
    ]
    await until(lambda: sum(task.done() for task in flood) == 50)
    await held.verify(unsigned(token()))  # who is known does not wait
    world.gate.set()
    await asyncio.gather(*flood, return_exceptions=True)


async def test_a_new_key_is_found_and_an_old_one_forgotten(world: World) -> None:
    held, clock = provider(world)
    await held.verify(unsigned(token()))
    world.keys = [jwk(rsa_key("new"), "n")]
    new = unsigned(token(key=rsa_key("new"), kid="n"))
    with pytest.raises(Refused):
        await held.verify(new)  # the provider has just been asked
    clock.now += SOONEST
    await held.verify(new)
    with pytest.raises(Refused):
        await held.verify(unsigned(token()))


async def test_a_withdrawn_key_of_an_idle_provider_counts_no_more(world: World) -> None:
    held, clock = provider(world)
    await held.verify(unsigned(token()))
    world.keys = [jwk(rsa_key("new"), "n")]
    clock.now += FRESH + 1
    world.gate.clear()
    several = [asyncio.create_task(held.verify(unsigned(token()))) for _ in range(3)]
    await until(lambda: world.asked.count(f"{URL}/keys") == 2)
    assert not any(task.done() for task in several)
    world.gate.set()
    for result in await asyncio.gather(*several, return_exceptions=True):
        assert isinstance(result, Refused)
    await held.verify(unsigned(token(key=rsa_key("new"), kid="n")))
    assert world.asked.count(f"{URL}/keys") == 2


async def test_keys_in_use_are_renewed_beside_a_request(world: World) -> None:
    held, clock = provider(world)
    await held.verify(unsigned(token()))
    world.keys = [jwk(rsa_key("new"), "n")]
    clock.now += RENEWED + 1
    world.gate.clear()
    await held.verify(unsigned(token()))  # and waits for nothing
    world.gate.set()
    await until(lambda: world.asked.count(f"{URL}/keys") == 2)
    await held.verify(unsigned(token(key=rsa_key("new"), kid="n")))
    with pytest.raises(Refused):
        await held.verify(unsigned(token()))


async def test_for_a_provider_that_hangs_only_the_first_wait(world: World) -> None:
    held, clock = provider(world)
    await held.verify(unsigned(token()))
    clock.now += FRESH + 1
    world.broken = True
    await held.verify(unsigned(token()))
    assert held.problem == "oidc: it is away"
    clock.now += FRESH + 1
    world.gate.clear()
    await held.verify(unsigned(token()))
    world.gate.set()


async def test_a_provider_that_is_away_does_not_take_its_keys_along(world: World) -> None:
    held, clock = provider(world)
    await held.verify(unsigned(token()))
    world.broken = True
    for _ in range(3):
        clock.now += FRESH + 1
        await held.verify(unsigned(token()))
        await until(lambda: held.problem != "")
    assert held.problem == "oidc: it is away" and held.ready
    world.broken = False
    clock.now += FRESH + 1
    await held.verify(unsigned(token()))
    await until(lambda: held.problem == "")


@pytest.mark.parametrize(
    ("discovery", "why"),
    [
        ({"issuer": OTHER, "jwks_uri": f"{URL}/keys"}, "issuer did not match the issuer returned"),
        ({"issuer": URL + "/", "jwks_uri": f"{URL}/keys"}, "issuer did not match"),
        ({"jwks_uri": f"{URL}/keys"}, "issuer did not match"),
        ({"issuer": URL}, "did not return JWKS URL"),
        ({"issuer": URL, "jwks_uri": "http://issuer.example.com/keys"}, "is no https URL"),
        ({"issuer": URL, "jwks_uri": "file:///etc/keys"}, "is no https URL"),
        ({"issuer": URL, "jwks_uri": ["x"]}, "did not return JWKS URL"),
        ([], "is no JSON object"),
    ],
)
async def test_discovery_that_does_not_fit(world: World, discovery: Any, why: str) -> None:
    world.discovery = discovery
    held, _ = provider(world)
    with pytest.raises(Unreachable, match="not initialized"):
        await held.verify(unsigned(token()))
    assert why in held.problem and not held.ready


async def test_of_many_keys_few_are_tried_and_others_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token that somebody made up names no key, so that all fit."""
    world.keys = [jwk(rsa_key(), f"k{i}") for i in range(64)]
    held, _ = provider(world)
    text = token(key=rsa_key("another"), kid="")
    order: list[str] = []

    def verifies(*_: Any) -> bool:
        order.append("tried")
        return False

    async def neighbour() -> None:
        while len(order) < 2 * MOST_TRIED:
            order.append("neighbour")
            await asyncio.sleep(0)

    await held.refresh()
    monkeypatch.setattr(jose, "verifies", verifies)
    others = asyncio.create_task(neighbour())
    await asyncio.sleep(0)
    with pytest.raises(Refused):
        await held.verify(unsigned(text))
    await others
    tried = [i for i, what in enumerate(order) if what == "tried"]
    assert len(tried) == MOST_TRIED
    assert all(j - i > 1 for i, j in itertools.pairwise(tried)), order


@pytest.mark.parametrize("member", ["kty", "n", "kid", "anything"])
async def test_keys_that_are_nested_deeply_keep_nobody_out(world: World, member: str) -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    world.keys.insert(0, {**jwk(rsa_key("odd")), member: deep})
    held, _ = provider(world)
    await held.verify(unsigned(token()))
    assert held.problem == ""
