"""``shardSelector``: what it may say, and the shares of lists and watches that it makes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio

from apiserver.meta import features
from apiserver.registry import sharding
from apiserver.registry.sharding import ShardError, hash_of, parse
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving

START, MIDDLE, END = "0x0000000000000000", "0x8000000000000000", "0x10000000000000000"
UID, NAMESPACE = "object.metadata.uid", "object.metadata.namespace"
MAPS = "/api/v1/namespaces/ns/configmaps"


def part(start: str, end: str, key: str = UID) -> str:
    return f"shardRange({key}, '{start}', '{end}')"


LOWER, UPPER = part(START, MIDDLE), part(MIDDLE, END)


def query(selector: str, **more: str) -> str:
    return "&".join(f"{k}={quote(v)}" for k, v in {"shardSelector": selector, **more}.items())


@pytest.mark.parametrize(
    ("value", "hashed"),
    [("", "cbf29ce484222325"), ("a", "af63dc4c8601ec8c"), ("foobar", "85944171f73967e8")],
)
def test_the_hash_is_that_of_the_published_vectors(value: str, hashed: str) -> None:
    """draft-eastlake-fnv, test vectors of FNV-1a with 64 bits."""
    assert hash_of(value) == hashed


@pytest.mark.parametrize(
    "text",
    [
        LOWER,
        UPPER,
        part(START, END),
        part("0x00000000000000aa", "0x00000000000000ff", NAMESPACE),
        f"{LOWER} || {UPPER}",
        " || ".join(part(f"0x{n:016x}", f"0x{n + 1:016x}") for n in range(150)),
    ],
)
def test_a_selector_reads_as_it_is_written(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(f"  ({text})  ".replace(", ", ",")) == parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" ", "empty shard selector is not allowed; omit the parameter for unfiltered lists"),
        ("shardRange(", "CEL parse error: Syntax error"),
        ("x" * 20_000, "a shard selector may have at most 16384 characters"),
        ("(" * 8_000, "CEL parse error: "),
        (UID, "unexpected expression kind 7; expected shardRange() call or || operator"),
        ("'a'", "unexpected expression kind 5;"),
        ("[1]", "unexpected expression kind 4;"),
        (f"{LOWER} && {UPPER}", 'unsupported function "_&&_"; only shardRange() and || are'),
        (f"{LOWER} || has(a.b)", 'unsupported function "has"'),
        ("object.metadata.uid > '0x0'", 'unsupported function "_>_"'),
        (f"shardRange({UID}, '0x0')", "shardRange() requires exactly 3 arguments, got 2"),
        (part(START, END, "object.metadata.name"), 'unsupported field path "object.metadata.name"'),
        (part(START, END, "'uid'"), "shardRange() first argument: expected field path"),
        (f"shardRange({UID}, 0, 8)", "hexStart must be a string literal, got int64"),
        (f"shardRange({UID}, hex(0), '0x8')", "hexStart must be a string literal (e.g. '0xff')"),
        (part("0000000000000000", MIDDLE), "hexStart must have '0x' prefix, got \"0000000000"),
        (part("0x", MIDDLE), "hexStart: hex value is required after '0x'"),
        (part(START, "0x0" + "0" * 17), "hexEnd: hex value too long (18 chars, max 17)"),
        (part("0x000000000000000g", MIDDLE), 'hexStart: invalid hex character "g" in "0x00'),
        (part("0X00", MIDDLE), "hexStart must have '0x' prefix"),
        (part(START, "0x1000000000000000f"), "17-digit hex value must be '0x10000000000000000'"),
        (part(START, "0xff"), 'got "0xff" (did you mean "0x00000000000000ff"?)'),
        (part(MIDDLE, MIDDLE), f"shard range start {MIDDLE} must be less than end {MIDDLE}"),
        (part(END, MIDDLE), f"shard range start {END} must be less than end {MIDDLE}"),
        (f"{LOWER} || {part(START, END, NAMESPACE)}", "all shard ranges must use the same field"),
    ],
)
def test_what_is_none_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(ShardError) as refused:
        parse(text)
    assert said in str(refused.value)


@pytest_asyncio.fixture
async def api(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Api]:
    monkeypatch.setitem(features.ENABLED, sharding.GATE, True)
    async with serving(store, tenant) as made:
        yield made


async def filled(api: Api, count: int = 24) -> dict[str, str]:
    """uid by name."""
    made = [await api.ok("POST", MAPS, {"metadata": {"name": f"m{n:02}"}}) for n in range(count)]
    return {m["metadata"]["name"]: m["metadata"]["uid"] for m in made}


def names(answer: Any) -> list[str]:
    return [item["metadata"]["name"] for item in answer["items"]]


def in_lower(uid: str) -> bool:
    return int(hash_of(uid), 16) < 1 << 63


async def test_shares_are_disjoint_and_complete(api: Api) -> None:
    uids = await filled(api)
    lower = await api.ok("GET", f"{MAPS}?{query(LOWER)}")
    upper = await api.ok("GET", f"{MAPS}?{query(UPPER)}")
    assert names(lower) == [name for name, uid in uids.items() if in_lower(uid)]
    assert names(upper) == [name for name, uid in uids.items() if not in_lower(uid)]
    assert names(lower) and names(upper)
    assert lower["metadata"]["shardInfo"] == {"selector": LOWER}
    both = await api.ok("GET", f"{MAPS}?{query(f'{UPPER}||{LOWER}')}")
    assert names(both) == list(uids)
    assert both["metadata"]["shardInfo"] == {"selector": f"{UPPER} || {LOWER}"}
    assert "shardInfo" not in (await api.ok("GET", MAPS))["metadata"]


async def test_pages_and_past_states_have_the_same_share(api: Api) -> None:
    uids = await filled(api)
    whole = await api.ok("GET", f"{MAPS}?{query(LOWER)}")
    at, token, found = whole["metadata"]["resourceVersion"], "", list[str]()
    await api.ok("DELETE", f"{MAPS}/{names(whole)[0]}")
    while True:
        more = {"continue": token} if token else {"resourceVersion": at}
        page = await api.ok("GET", f"{MAPS}?{query(LOWER, limit='2', **more)}")
        assert page["metadata"]["shardInfo"] == {"selector": LOWER}
        assert "remainingItemCount" not in page["metadata"] and len(page["items"]) <= 2
        found += names(page)
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert found == [name for name, uid in uids.items() if in_lower(uid)]


async def test_namespaces_have_shares_too(api: Api) -> None:
    await filled(api, 3)
    key = hash_of("ns")
    inside = part(f"0x{key}", f"0x{int(key, 16) + 1:016x}", NAMESPACE)
    outside = part(START, f"0x{key}", NAMESPACE)
    assert len(names(await api.ok("GET", f"/api/v1/configmaps?{query(inside)}"))) == 3
    assert names(await api.ok("GET", f"/api/v1/configmaps?{query(outside)}")) == []


async def test_a_watch_has_its_share_of_all_events(api: Api) -> None:
    lower = api.watch(f"{MAPS}?{query(LOWER, watch='1')}")
    upper = api.watch(f"{MAPS}?{query(UPPER, watch='1')}")
    uids = await filled(api, 12)
    for name in uids:
        await api.patch(f"{MAPS}/{name}", {"data": {"a": "b"}})
    for name in uids:
        await api.ok("DELETE", f"{MAPS}/{name}")
    for watch, mine in ((lower, True), (upper, False)):
        expected = [name for name, uid in uids.items() if in_lower(uid) == mine]
        events = [
            (event["type"], event["object"]["metadata"]["name"])
            for event in await watch.take(3 * len(expected))
        ]
        assert events == [
            (kind, name) for kind in ("ADDED", "MODIFIED", "DELETED") for name in expected
        ]
        await watch.stop()


async def test_what_is_deleted_is_the_share(api: Api) -> None:
    uids = await filled(api, 12)
    await api.ok("DELETE", f"{MAPS}?{query(LOWER)}")
    left = names(await api.ok("GET", MAPS))
    assert left == [name for name, uid in uids.items() if not in_lower(uid)]


@pytest.mark.parametrize("form", ["PartialObjectMetadataList", "Table"])
async def test_other_forms_of_a_list_say_so_too(api: Api, form: str) -> None:
    await filled(api, 1)
    accept = f"application/json;as={form};g=meta.k8s.io;v=v1"
    answer = await api.ok("GET", f"{MAPS}?{query(LOWER)}", accept=accept)
    assert answer["metadata"]["shardInfo"] == {"selector": LOWER}
    status, data = await api.raw(
        "GET", f"{MAPS}?{query(LOWER)}", b"", "", accept="application/vnd.kubernetes.protobuf"
    )
    assert status == 200 and LOWER.encode() in data


@pytest.mark.parametrize("watch", ["", "1"])
async def test_a_selector_that_is_none_is_a_bad_request(api: Api, watch: str) -> None:
    answer = await api("GET", f"{MAPS}?{query('uid', watch=watch or '0')}")
    status, body = answer
    assert (status, body["reason"]) == (400, "BadRequest")
    assert "invalid shardSelector: unexpected expression kind 3" in body["message"]


async def test_by_default_it_is_ignored(store: PostgresStore, tenant: int) -> None:
    async with serving(store, tenant) as api:
        uids = await filled(api, 6)
        answer = await api.ok("GET", f"{MAPS}?{query('nonsense')}")
        assert names(answer) == list(uids) and "shardInfo" not in answer["metadata"]
