"""Token secrets that nobody uses: marked after a year, deleted after another."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from apiserver.authn.legacytokens import INVALID_SINCE, LAST_USED, TYPE
from apiserver.controllers import tokencleaner
from apiserver.controllers.actions import Actions
from apiserver.controllers.tokencleaner import EVERY, TokenCleaner, unused
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitionworker import Worker

ACCOUNTS, SECRETS, MAPS = ("", "serviceaccounts"), ("", "secrets"), ("", "configmaps")
NAMESPACES = ("", "namespaces")
NOW = datetime.now(UTC)
YEAR, DAY = timedelta(days=365), timedelta(days=1)


def day(moment: datetime) -> str:
    return moment.date().isoformat()


def secret(age: timedelta, **labels: str) -> Object:
    named = {key.replace("_", "-"): value for key, value in labels.items()}
    return {"metadata": {"creationTimestamp": format_time(NOW - age), "labels": named}}


@pytest.mark.parametrize(
    ("age", "last", "expected"),
    [
        (YEAR + DAY, None, True),
        (YEAR - DAY, None, False),
        (2 * YEAR, day(NOW - YEAR - DAY), True),
        (2 * YEAR, day(NOW - YEAR + DAY), False),
        (2 * YEAR, "yesterday", False),
    ],
)
def test_what_nobody_uses(age: timedelta, last: str | None, expected: bool) -> None:
    some = secret(age)
    if last is not None:
        some["metadata"]["labels"][LAST_USED] = last
    assert unused(some, NOW) is expected


async def tracked(worker: Worker, since: str) -> None:
    key = tokencleaner._TRACKING
    await Actions(worker.registry).ensure(
        worker.tenant,
        key,
        {"metadata": {"name": key.name, "namespace": key.namespace}, "data": {"since": since}},
    )


async def made(worker: Worker, name: str) -> None:
    annotations = {"kubernetes.io/service-account.name": "a"}
    metadata = {"name": name, "annotations": annotations}
    await worker.create(SECRETS, {"metadata": metadata, "type": TYPE})


async def labels(worker: Worker, name: str) -> Object:
    found = await worker.get(SECRETS, name)
    assert found is not None
    return found["metadata"].get("labels") or {}


async def test_marked_and_then_deleted(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaner = TokenCleaner(Actions(worker.registry), Relations(store.database))

    def later(by: timedelta) -> Callable[[], None]:
        return monkeypatch.setattr(tokencleaner, "now", lambda: datetime.now(UTC) + by)

    refs = [{"name": n} for n in ("auto", "used")]
    await worker.create(ACCOUNTS, {"metadata": {"name": "a"}, "secrets": refs})
    for name in ("auto", "used", "by-hand"):
        await made(worker, name)
    await tracked(worker, "2020-01-01")
    look = cleaner.look
    assert await look(worker.tenant, "all") == EVERY
    assert INVALID_SINCE not in await labels(worker, "auto"), "it is new"

    later(YEAR + 2 * DAY)

    def use(obj: Object) -> None:
        obj["metadata"]["labels"] = {LAST_USED: day(datetime.now(UTC) + YEAR)}

    await worker.change(SECRETS, "used", use)
    await look(worker.tenant, "all")
    assert INVALID_SINCE in await labels(worker, "auto")
    assert INVALID_SINCE not in await labels(worker, "used")
    assert await labels(worker, "by-hand") == {}
    later(2 * YEAR)
    await look(worker.tenant, "all")
    assert await worker.get(SECRETS, "auto") is not None

    def forever(obj: Object) -> None:
        obj["metadata"]["labels"][LAST_USED] = day(datetime.now(UTC) + 2 * YEAR)

    await worker.change(SECRETS, "used", forever)
    later(2 * YEAR + 4 * DAY)
    await look(worker.tenant, "all")
    assert await worker.get(SECRETS, "auto") is None
    assert await worker.get(SECRETS, "used") is not None
    assert await worker.get(SECRETS, "by-hand") is not None


async def test_nothing_is_judged_by_what_was_not_noted(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaner = TokenCleaner(Actions(worker.registry), Relations(store.database))
    assert await cleaner.look(worker.tenant, "all") is None, "there are none"
    await worker.create(ACCOUNTS, {"metadata": {"name": "a"}, "secrets": [{"name": "auto"}]})
    await made(worker, "auto")
    moment = datetime.now(UTC) + 2 * YEAR
    monkeypatch.setattr(tokencleaner, "now", lambda: moment)
    for since in ("nonsense", day(moment - YEAR)):
        await tracked(worker, since)
        await cleaner.look(worker.tenant, "all")
        assert INVALID_SINCE not in await labels(worker, "auto")
        await Actions(worker.registry).change(
            worker.tenant,
            tokencleaner._TRACKING,
            lambda obj: bool(obj["data"].update(since=day(moment - YEAR))) or True,
        )
