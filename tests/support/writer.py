"""A process full of writers, for tests with more than one: ``python -m tests.support.writer`` with
a JSON object on standard input.

In: {"conninfo", "tenants": [numbers], "writers": count, "seconds", "least", "seed"}; out:
{tenant: [[version, type, name], ...]}, all acknowledged. Writers of one tenant fight for the
same few keys, so that creates, updates and deletes succeed, conflict and share batches.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import Any

from apiserver.storage.errors import KeyExists, KeyMissing, Stale, Unavailable
from apiserver.storage.interface import Record
from apiserver.storage.postgres import PostgresStore
from tests.support.storage import create, delete, key, stored, update

_KEYS = 12


async def write_for(
    store: PostgresStore, tenant: int, order: dict[str, Any], chance: random.Random, done: list[Any]
) -> None:
    """Keeps changing random objects of the tenant for ``seconds``, and until its writers have done
    ``least`` together; appends [version, event type, name] of each acknowledged write to
    ``done``."""
    known: dict[str, Record] = {}
    end = time.monotonic() + order["seconds"]
    while time.monotonic() < end or len(done) < order["least"]:
        name = f"n{chance.randrange(_KEYS)}"
        old = known.get(name)
        if old is None:
            write, kind = (
                create(key(name), str(chance.random()), labels={"app": chance.choice("xy")}),
                "ADDED",
            )
        elif chance.random() < 0.3:
            write, kind = delete(old), "DELETED"
        else:
            write, kind = (
                update(old, str(chance.random()), labels={"app": chance.choice("xy")}),
                "MODIFIED",
            )
        try:
            version = await store.write(tenant, write)
        except (KeyExists, KeyMissing, Stale, Unavailable):
            found = await store.get(tenant, key(name))
            known.pop(name, None)
            if found is not None:
                known[name] = found
            continue
        done.append([version, kind, name])
        if kind == "DELETED":
            del known[name]
        else:
            known[name] = stored(write, version)


async def _main(order: dict[str, Any]) -> None:
    store = PostgresStore(order["conninfo"], size=6)
    await store.open()
    tenants = order["tenants"]
    done: dict[int, list[Any]] = {t: [] for t in tenants}
    chance = random.Random(order["seed"])
    places = [tenants[i % len(tenants)] for i in range(order["writers"])]
    await asyncio.gather(
        *(write_for(store, t, order, random.Random(chance.random()), done[t]) for t in places)
    )
    await store.close()
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    asyncio.run(_main(json.load(sys.stdin)))
