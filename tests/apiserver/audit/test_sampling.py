"""Which entries a rule's ``samplePercent`` may leave out of the table.

| request | level | rule says 0 | rule says 100 | rule says nothing |
|---|---|---|---|---|
| a write that is done, a delete, each of a collection | kept | one | one | one |
| a write that fails or changes nothing, a dry run | kept | one | one | one |
| a read, found or not | kept | none | one | by the setting |
| a read, found or not | None | none | none | none |
| refused (403), or by nobody (401), read or write | any | none | one | one |
| a deletion of a collection, refused halfway | any | one | one | one |

Files and webhooks get what the level keeps, whole.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from apiserver.audit.policy import COMPLETE, Level, Policy, Verdict, parse
from apiserver.audit.recorder import Recorder
from apiserver.audit.trail import Trail
from apiserver.request import parse_request
from apiserver.storage.auditlog import Row
from apiserver.storage.postgres import PostgresStore
from apiserver.user import User
from tests.support.api import TYPES, serving
from tests.support.auditworld import MAPS, World


def policy(level: str, percent: int | None) -> Policy:
    rule = {"level": level} if percent is None else {"level": level, "samplePercent": percent}
    return parse({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [rule]})


@pytest.mark.parametrize("setting", [0.0, 1.0])
@pytest.mark.parametrize("percent", [0, 100, None])
@pytest.mark.parametrize("level", ["None", "Metadata"])
async def test_reads_and_refusals_are_sampled_and_writes_are_whole(
    store: PostgresStore, tenant: int, level: str, percent: int | None, setting: float
) -> None:
    one = {"metadata": {"name": "a"}}
    async with serving(store, tenant) as api:
        world = World(api, store, policy(level, percent))
        api.server.audit.reads = setting
        assert await world("POST", MAPS, one) == 201
        assert await world("PATCH", f"{MAPS}/a", {"data": {"x": "y"}}, type=TYPES["merge"]) == 200
        assert await world("POST", MAPS, one) == 409
        assert await world("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "b"}}) == 201
        assert await world("POST", MAPS, {"metadata": {"name": "c"}}) == 201
        assert await world("DELETE", f"{MAPS}/c") == 200
        for path, status in ((f"{MAPS}/a", 200), (MAPS, 200), (f"{MAPS}/none", 404)):
            assert await world("GET", path) == status
        for method, user, status in (("GET", "bob", 403), ("POST", "bob", 403)):
            assert await world(method, MAPS, one if method == "POST" else None, user) == status
        for method in ("GET", "POST"):
            assert await world(method, MAPS, one if method == "POST" else None, "nobody") == 401
        assert await world("DELETE", MAPS) == 200
        entries = await world.entries()
        await world.log.close()
    kept = level != "None"
    done = [(e["verb"], e["code"]) for e in entries if e["version"]]
    writes = [("create", 201), ("patch", 200), ("create", 201), ("delete", 200)]
    assert done == [*writes, ("deletecollection", 200)] * kept
    others = sorted((e["verb"], e["code"]) for e in entries if not e["version"])
    share = {0: 0, 100: 1}.get(percent if percent is not None else -1)
    reads = kept and (setting if share is None else share)
    expected = [("create", 409), ("create", 201)] * kept
    expected += [("get", 200), ("list", 200), ("get", 404)] if reads else []
    if share != 0:
        expected += [(verb, code) for verb in ("create", "list") for code in (401, 403)]
    assert others == sorted(expected)
    heard = [e["responseStatus"]["code"] for e in world.heard.events if e["stage"] == COMPLETE]
    assert heard.count(403) == 2 * kept and heard.count(404) == kept, "files get all"


class Rows:
    def __init__(self) -> None:
        self.rows: list[Row] = []

    def put(self, row: Row) -> None:
        self.rows.append(row)


def finished(verb: str, code: int, verdict: Verdict, reads: float = 1.0, **more: Any) -> int:
    """How many rows such a request leaves. more: members of its trail."""
    method = {"get": "GET", "deletecollection": "DELETE"}[verb]
    info = parse_request(method, f"{MAPS}/a" if verb == "get" else MAPS)
    trail, table = Trail(verdict, "acme", info, User("ann"), audit_id="1"), Rows()
    for name, value in more.items():
        setattr(trail, name, value)
    Recorder(table=table, reads=reads).finish(trail, 1, code)
    return len(table.rows)


@pytest.mark.parametrize(("drawn", "there"), [(0.0, 1), (0.0999, 1), (0.1, 0), (0.9999, 0)])
@pytest.mark.parametrize("code", [200, 401, 403])
def test_a_tenth_is_a_tenth(
    monkeypatch: pytest.MonkeyPatch, code: int, drawn: float, there: int
) -> None:
    monkeypatch.setattr(random, "random", lambda: drawn)
    assert finished("get", code, Verdict(Level.METADATA, sample=10)) == there


def test_what_must_stay_is_no_sample() -> None:
    nothing = Verdict(Level.METADATA, sample=0)
    assert finished("get", 200, nothing) == 0
    assert finished("get", 200, nothing, stays=True) == 1, "values of Secrets were shown"
    assert finished("deletecollection", 403, nothing) == 0
    assert finished("deletecollection", 403, nothing, made=2) == 1, "it has done a part"
    assert finished("deletecollection", 200, nothing, made=2) == 0, "each has its own"
