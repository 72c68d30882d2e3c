"""One tenant never has all connections."""

from __future__ import annotations

import asyncio

from apiserver.storage.pool import Places


async def test_a_tenant_waits_for_itself() -> None:
    places = Places(2)
    await places.take(1)
    await places.take(1)
    third = asyncio.create_task(places.take(1))
    await asyncio.sleep(0)
    assert not third.done()
    await places.take(2)
    places.give_back(1)
    await third


async def test_who_leaves_takes_no_place() -> None:
    places = Places(1)
    await places.take(1)
    leaving, staying = (asyncio.create_task(places.take(1)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.sleep(0)
    places.give_back(1)
    await staying
    places.give_back(1)
    await places.take(1)


async def test_who_leaves_with_a_place_gives_it_back() -> None:
    places = Places(1)
    await places.take(1)
    leaving = asyncio.create_task(places.take(1))
    await asyncio.sleep(0)
    places.give_back(1)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    await places.take(1)
