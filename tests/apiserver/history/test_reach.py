"""How far back the log reaches: what a RetainedLog says is what can be asked."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from apiserver.storage.compact import compact
from apiserver.storage.postgres import PostgresStore
from tests.apiserver.history.asking import (
    CONFIG_MAPS,
    ROOT,
    SHOP,
    config_map,
    listed,
    selecting,
    three_versions,
)
from tests.support.api import Api

LOGS = f"{ROOT}/retainedlogs"
LOG = f"{LOGS}/log"


def before(time: str) -> str:
    moment = datetime.fromisoformat(time.replace("Z", "+00:00")) - timedelta(microseconds=1)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"


async def reaches(api: Api, moment: str) -> bool:
    status, _ = await api("GET", selecting(SHOP, asOf=moment))
    assert status in (200, 410)
    return status == 200


async def is_true(api: Api, log: dict[str, Any]) -> None:
    """Its beginnings can be asked for, and nothing before them."""
    assert await reaches(api, log["begins"]) and not await reaches(api, before(log["begins"]))
    assert await reaches(api, log["oldest"])
    if int(log["oldest"]) > 1:
        assert not await reaches(api, str(int(log["oldest"]) - 1))
    assert await reaches(api, log["newest"])


async def test_it_says_where_the_log_begins(api: Api, store: PostgresStore, tenant: int) -> None:
    versions = await three_versions(api)
    times = {r["metadata"]["name"]: r["time"] for r in await listed(api, SHOP)}
    log = await api.ok("GET", LOG)
    assert (log["kind"], log["metadata"]["name"]) == ("RetainedLog", "log")
    assert log["newest"] == log["metadata"]["resourceVersion"] and log["retentionSeconds"] == 86400
    await is_true(api, log)
    await compact(store.database, tenant, int(versions[1]))
    cut = await api.ok("GET", LOG)
    assert (cut["begins"], cut["oldest"]) == (times[versions[1]], versions[1])
    await is_true(api, cut)


async def test_the_first_version_that_is_left_may_be_later_than_the_floor(
    api: Api, store: PostgresStore, tenant: int
) -> None:
    """The entry at the floor was a deletion, which compaction takes away."""
    await api.ok("POST", CONFIG_MAPS, config_map("gone"))
    await api.ok("DELETE", f"{CONFIG_MAPS}/gone")
    floor = int((await api.ok("GET", LOG))["newest"])
    await compact(store.database, tenant, floor)
    emptied = await api.ok("GET", LOG)
    assert "begins" not in emptied and emptied["oldest"] == emptied["newest"] == str(floor)
    await api.ok("POST", CONFIG_MAPS, config_map("next"))
    log = await api.ok("GET", LOG)
    (next_,) = await listed(api, selecting(SHOP, resource="configmaps", name="next"))
    assert log["begins"] == next_["time"]
    await is_true(api, log)


async def test_what_is_too_early_is_told_the_beginning(
    api: Api, store: PostgresStore, tenant: int
) -> None:
    versions = await three_versions(api)
    await compact(store.database, tenant, int(versions[1]))
    begins = (await api.ok("GET", LOG))["begins"]
    _, refused = await api("GET", selecting(SHOP, asOf="2001-01-01T00:00:00Z"))
    assert refused["message"].endswith(f"it reaches back to {begins}")


async def test_kubectl_lists_it(api: Api) -> None:
    await three_versions(api)
    (log,) = (await api.ok("GET", LOGS))["items"]
    named = {"kind": "RetainedLog", "apiVersion": "history.polyplane.dev/v1"}
    assert {**named, **log} == await api.ok("GET", LOG), "items of lists say no kind"
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = await api.ok("GET", LOGS, accept=accept)
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names == ["Name", "Begins", "Reach", "Oldest", "Newest", "Retention"]
    (row,) = table["rows"]
    assert row["cells"][:2] == ["log", log["begins"]] and row["cells"][5] == "24h"
    assert (await api("GET", f"{LOGS}/other"))[0] == 404
    assert (await api("GET", f"{LOGS}?watch=1"))[0] == 405
    assert (await api("POST", LOGS, {"metadata": {"name": "log"}}))[0] == 405
