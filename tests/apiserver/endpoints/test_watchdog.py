"""A watch ends soon after its tenant is suspended or its token revoked; others go on, also while
the database is away."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from apiserver.authn.accountclaims import Refused
from apiserver.authn.providers import Unreachable
from apiserver.endpoints.watchdog import Right, Watchdog
from apiserver.storage.errors import Unavailable
from tests.support.waiting import until

TOKENS = "secret", "refused", "asked elsewhere"


class Directory:
    def __init__(self) -> None:
        self.state, self.id, self.tokens, self.away = "active", 1, {*TOKENS}, False
        self.asked = 0

    async def tenant(self, name: str) -> Any:
        self.asked += 1
        if self.away:
            raise Unavailable("away")
        return SimpleNamespace(id=self.id, state=self.state)

    async def identify(self, tenant: Any, secret: str) -> object | None:
        if secret == "asked elsewhere" and secret not in self.tokens:
            raise Unreachable("nobody answers")
        if secret == "refused" and secret not in self.tokens:
            raise Refused("no longer good")
        return secret if secret in self.tokens else None


class Watch:
    closed = False

    def close(self, error: Exception) -> None:
        self.closed = True


async def looked_at(directory: Directory, rights: int) -> None:
    """At each of so many rights, in a round that began after the call."""
    enough = directory.asked + 2 * rights + 1
    await until(lambda: directory.asked >= enough)


async def closed_after(change: Any, *rights: Right) -> list[bool]:
    directory = Directory()
    dog = Watchdog(directory, directory.identify, every=0.01)
    watches = [Watch() for _ in rights]
    guards = [dog.guard(right, watch) for right, watch in zip(rights, watches, strict=True)]
    for guard in guards:
        guard.__enter__()
    await looked_at(directory, len(rights))
    assert not any(w.closed for w in watches)
    change(directory)
    await looked_at(directory, len(rights))
    for guard in guards:
        guard.__exit__(None, None, None)
    assert not dog._open and dog._looking is not None
    await dog._looking
    return [w.closed for w in watches]


async def test_a_suspended_or_replaced_tenant() -> None:
    assert await closed_after(
        lambda d: setattr(d, "state", "suspended"), Right("t", 1, ""), Right("t", 1, "secret")
    ) == [True, True]
    assert await closed_after(lambda d: setattr(d, "id", 2), Right("t", 1, "")) == [True]


async def test_a_revoked_token_ends_its_own_watches_only() -> None:
    rights = Right("t", 1, "secret"), Right("t", 1, "refused"), Right("t", 1, "")
    assert await closed_after(lambda d: d.tokens.clear(), *rights) == [True, True, False]


async def test_a_database_that_is_away_ends_nothing() -> None:
    assert await closed_after(lambda d: setattr(d, "away", True), Right("t", 1, "secret")) == [
        False
    ]


async def test_who_should_know_a_token_and_does_not_answer_ends_nothing() -> None:
    rights = Right("t", 1, "asked elsewhere"), Right("t", 1, "refused")
    assert await closed_after(lambda d: d.tokens.clear(), *rights) == [False, True]
