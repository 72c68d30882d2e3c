"""What watchers with selectors see, and that they share the work."""

from __future__ import annotations

import json
from typing import Any

from apiserver.storage.postgres import PostgresStore
from apiserver.watch.entry import Fields, Labels
from apiserver.watch.subscription import Subscription
from apiserver.watch.watches import Watches
from tests.support.storage import CONFIGMAPS, create, delete, key, stored, update
from tests.support.watch import Label, nothing, read, short


async def _walk(store: PostgresStore, tenant: int) -> list[int]:
    """An object that enters, changes within, leaves, changes outside, enters again and is deleted;
    one that is deleted outside."""
    versions = []
    write = create(key("a"), "0", labels={"app": "y"})
    record = stored(write, await store.write(tenant, write))
    versions.append(record.resource_version)
    for value, app in (("1", "x"), ("2", "x"), ("3", "y"), ("4", "y"), ("5", "x")):
        write = update(record, value, labels={"app": app})
        record = stored(write, await store.write(tenant, write))
        versions.append(record.resource_version)
    versions.append(await store.write(tenant, delete(record)))
    other = create(key("b"))
    await store.write(tenant, delete(stored(other, await store.write(tenant, other))))
    return versions


async def test_transitions(store: PostgresStore, watches: Watches, tenant: int) -> None:
    head = await store.head(tenant)
    by_label = await watches.subscribe(tenant, CONFIGMAPS, after=head, predicate=Label("app", "x"))
    by_field = await watches.subscribe(
        tenant,
        CONFIGMAPS,
        after=head,
        predicate=lambda labels, fields: fields["value"] in {"1", "2", "5"},
    )
    versions = await _walk(store, tenant)
    for subscription in (by_label, by_field):
        events = await read(subscription, 5)
        await nothing(subscription, 0.01)
        told = [json.loads(e.frame) for e in events]
        assert [(t["type"], t["object"]["value"]) for t in told] == [
            ("ADDED", "1"),
            ("MODIFIED", "2"),
            ("DELETED", "2"),  # it left: the old state, at the version at which it left
            ("ADDED", "5"),
            ("DELETED", "5"),
        ]
        seen = [int(t["object"]["metadata"]["resourceVersion"]) for t in told]
        assert seen == [versions[1], versions[2], versions[3], versions[5], versions[6]]
        assert [e.resource_version for e in events] == seen
        assert told[2]["object"]["metadata"]["labels"] == {"app": "x"}


async def test_namespace_and_name(store: PostgresStore, watches: Watches, tenant: int) -> None:
    head = await store.head(tenant)

    async def subscribe(**where: str) -> Subscription:
        return await watches.subscribe(tenant, CONFIGMAPS, after=head, **where)

    everything, one_space = await subscribe(), await subscribe(namespace="a")
    one_object, any_space = await subscribe(namespace="a", name="n1"), await subscribe(name="n1")
    for namespace in ("a", "b"):
        for name in ("n1", "n2"):
            await store.write(tenant, create(key(name, namespace)))
    assert len(await read(everything, 4)) == 4
    assert short(await read(one_space, 2)) == [("ADDED", "n1"), ("ADDED", "n2")]
    assert [e.entry.namespace for e in await read(any_space, 2)] == ["a", "b"]
    assert short(await read(one_object, 1)) == [("ADDED", "n1")]
    for subscription in (everything, one_space, one_object, any_space):
        await nothing(subscription, 0.01)
    initial = await watches.subscribe(tenant, CONFIGMAPS, after=None, namespace="b", name="n2")
    assert [(e.entry.namespace, e.entry.name) for e in await read(initial, 1)] == [("b", "n2")]


class Counting(Label):
    calls = 0

    def __call__(self, labels: Labels, fields: Fields) -> bool:
        Counting.calls += 1
        return super().__call__(labels, fields)


async def test_equal_selectors_are_evaluated_once_and_share_encodings(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    head = await store.head(tenant)
    subscriptions = [
        await watches.subscribe(tenant, CONFIGMAPS, after=head, predicate=Counting("app", "x"))
        for _ in range(20)
    ]
    plain = await watches.subscribe(tenant, CONFIGMAPS, after=head)
    Counting.calls = 0
    await store.write(tenant, create(key("a"), labels={"app": "x"}))
    events: list[Any] = [(await read(s, 1))[0] for s in subscriptions]
    assert len({id(e) for e in events}) == 1
    assert Counting.calls == 1
    assert events[0].frame is events[1].frame
    assert (await read(plain, 1))[0] is events[0], (
        "the same outcome is the same event for every selector"
    )
    events[0].memo["table"] = b"encoded"
    assert events[7].memo == {"table": b"encoded"}


async def test_equal_selector_keys_make_one_group_of_different_functions(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    head = await store.head(tenant)

    async def subscribe(value: str) -> Subscription:
        predicate = Counting("app", value)
        return await watches.subscribe(
            tenant,
            CONFIGMAPS,
            after=head,
            predicate=lambda labels, fields: predicate(labels, fields),
            selector=("app", value),
        )

    subscriptions = [await subscribe(value) for value in "xxxy"]
    Counting.calls = 0
    await store.write(tenant, create(key("a"), labels={"app": "x"}))
    assert [short(await read(s, 1)) for s in subscriptions[:3]] == [[("ADDED", "a")]] * 3
    await nothing(subscriptions[3], 0.01)
    assert Counting.calls == 2


async def test_500_watchers_all_get_all_changes(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    head = await store.head(tenant)
    subscriptions = [
        await watches.subscribe(tenant, CONFIGMAPS, after=head, namespace="default")
        for _ in range(500)
    ]
    first = create(key("a"))
    record = stored(first, await store.write(tenant, first))
    for i in range(20):
        change = update(record, str(i))
        record = stored(change, await store.write(tenant, change))
    assert len(subscriptions) == 500
    for s in subscriptions:
        assert short(await read(s, 21)) == [("ADDED", "a"), *[("MODIFIED", "a")] * 20]


async def test_cancelled_watchers_are_forgotten(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    head = await store.head(tenant)
    a, b = [
        await watches.subscribe(tenant, CONFIGMAPS, after=head, namespace="default")
        for _ in range(2)
    ]
    a.cancel()
    a.cancel()
    await store.write(tenant, create(key("a")))
    assert short(await read(b, 1)) == [("ADDED", "a")]
    assert await a.next(0) == []
    b.cancel()
    assert len(watches._tails[tenant].channels[CONFIGMAPS].hub) == 0
