"""In which tenants somebody is an owner or bound, as the directory finds it in the database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import psycopg
import pytest

from apiserver.storage.postgres import PostgresStore
from controlplane.tenancy import owntenants
from controlplane.tenancy.directory import Directory
from controlplane.tenancy.fetching import fetcher
from tests.support.storage import numbers

FIRST = 800_000_000
"""Numbers of tenants that no other test has."""


class World:
    """Rows of tenants, as the owner of the tables writes them. Names are given a beginning of their
    own."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection
        self.numbers: dict[str, int] = {}

    def tenant(self, name: str, *owners: str, state: str = "active", document: str = "") -> int:
        number = self.numbers[name] = next(numbers)
        with self._connection.transaction():
            self._see()
            self._connection.execute(
                "INSERT INTO tenancy_tenant (id, name, display_name, state, owners, created_at) "
                "VALUES (%s, %s, upper(%s), %s, %s, now())",
                [number, name, name, state, list(owners)],
            )
            if document:
                self._connection.execute(
                    "INSERT INTO tenancy_authentication (tenant_id, document) VALUES (%s, %s)",
                    [number, document],
                )
        return number

    def bind(self, name: str, *subjects: str) -> None:
        with self._connection.transaction():
            self._see()
            self._connection.execute(
                "INSERT INTO bound_subjects (tenant_id, uid, subject) "
                "SELECT %s, gen_random_uuid(), unnest(%s::text[])",
                [self.numbers[name], list(subjects)],
            )

    def many(self, count: int, subject: str, bindings: int = 1) -> None:
        """Tenants in which the subject is bound, by several bindings in each, and others beside
        it."""
        with self._connection.transaction():
            self._see()
            self._connection.execute(
                "INSERT INTO tenancy_tenant (id, name, display_name, state, created_at) "
                "SELECT %s + i, 'many-' || i, '', 'active', now() FROM generate_series(1, %s) i",
                [FIRST, count],
            )
            for named, times in ((f"'{subject}'", bindings), ("'User:u' || i", 1)):
                self._connection.execute(
                    "INSERT INTO bound_subjects (tenant_id, uid, subject) "
                    f"SELECT %s + i, gen_random_uuid(), {named} "
                    "FROM generate_series(1, %s) i, generate_series(1, %s)",
                    [FIRST, count, times],
                )
            self._connection.execute("ANALYZE tenancy_tenant")

    def _see(self) -> None:
        self._connection.execute("SET LOCAL polyplane.tenant = 'all'")

    def clean(self) -> None:
        with self._connection.transaction():
            self._see()
            gone = list(self.numbers.values())
            for table, column in (
                ("bound_subjects", "tenant_id"),
                ("tenancy_authentication", "tenant_id"),
                ("tenancy_tenant", "id"),
            ):
                self._connection.execute(
                    f"DELETE FROM {table} WHERE {column} = ANY(%s) "
                    f"OR {column} BETWEEN {FIRST} AND {FIRST + 100_000}",
                    [gone],
                )


@pytest.fixture
def world(owner: str) -> Iterator[World]:
    with psycopg.connect(owner, autocommit=True) as connection:
        made = World(connection)
        yield made
        made.clean()


@pytest.fixture
async def directory(postgres: str) -> AsyncIterator[Directory]:
    """As the workers' role, over the wall."""
    store = PostgresStore(postgres, size=2)
    await store.open()
    yield Directory(fetcher(store))
    await store.close()


async def ways(
    directory: Directory, *subjects: str, only: int = 0, issuer: str = "", after: str = ""
) -> dict[str, Sequence[str]]:
    rows = await directory.own(subjects, only, issuer, after)
    assert all(row[-1] == len(rows) for row in rows)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    return {name: through for name, _, _, through, _ in rows}


async def test_owners_and_those_that_are_bound_are_told_why(
    world: World, directory: Directory
) -> None:
    world.tenant("own-b", "User:zoe")
    world.tenant("own-a", "Group:zoes")
    world.tenant("own-c")
    world.tenant("own-d", "User:zoe", "Group:zoes")
    world.tenant("own-e", "User:other", "Group:zoe")
    world.bind("own-c", "User:zoe", "Group:zoes")
    world.bind("own-d", "Group:zoes")
    world.bind("own-e", "Group:zoe", "User:zoes", "User:Zoe", "ServiceAccount:ns:zoe")
    assert await ways(directory, "User:zoe", "Group:zoes") == {
        "own-a": ["owner"],
        "own-b": ["owner"],
        "own-c": ["binding"],
        "own-d": ["owner", "binding"],
    }
    assert await ways(directory, "User:nobody") == {}
    assert await ways(directory) == {}


async def test_suspended_ones_are_told_and_those_that_go_are_not(
    world: World, directory: Directory
) -> None:
    for state in ("active", "suspended", "deleting"):
        world.tenant(f"in-{state}", state=state)
        world.bind(f"in-{state}", "User:zoe")
    rows = await directory.own(["User:zoe"], 0, "", "")
    assert rows == [
        ("in-active", "IN-ACTIVE", "active", ["binding"], 2),
        ("in-suspended", "IN-SUSPENDED", "suspended", ["binding"], 2),
    ]


async def test_who_is_good_in_one_tenant_is_told_that_one_at_most(
    world: World, directory: Directory
) -> None:
    here = world.tenant("here")
    there = world.tenant("there", "User:zoe")
    leaving = world.tenant("leaving", state="deleting")
    for name in world.numbers:
        world.bind(name, "ServiceAccount:ns:bot", "User:zoe")
    assert await ways(directory, "ServiceAccount:ns:bot", only=here) == {"here": ["binding"]}
    assert await ways(directory, "User:zoe", only=there) == {"there": ["owner", "binding"]}
    assert await ways(directory, "User:bob", only=here) == {}
    assert await ways(directory, "User:zoe", only=leaving) == {}


async def test_a_tenant_that_knows_the_issuer_itself_decides_who_that_is(
    world: World, directory: Directory
) -> None:
    issuer = "https://idp.example.com/a_b%"
    world.tenant("knows", document=f"jwt:\n- issuer:\n    url: {issuer}\n")
    world.tenant(
        "knows-another", document="jwt:\n- issuer:\n    url: https://idp.example.com/axb\n"
    )
    world.tenant("knows-one-that-begins-alike", document=f'{{"url": "{issuer}-more"}}')
    world.tenant("knows-both", document=f'{{"jwt":["{issuer}-more","{issuer}"]}}')
    world.tenant("owned-and-knows", "User:zoe", document=f"url: '{issuer}'")
    world.tenant("plain")
    for name in world.numbers:
        world.bind(name, "User:zoe")
    told = await ways(directory, "User:zoe", issuer=issuer)
    assert list(told) == ["knows-another", "knows-one-that-begins-alike", "plain"]
    assert len(await ways(directory, "User:zoe")) == 6


async def test_an_issuer_that_is_no_word_leaves_a_tenant_out(
    world: World, directory: Directory
) -> None:
    world.tenant("knows", document='{"url": "https://[::1]:8443"}')
    world.bind("knows", "User:zoe")
    assert await ways(directory, "User:zoe", issuer="https://[::1]:8443") == {}
    assert list(await ways(directory, "User:zoe", issuer="https://[::1]:8444")) == ["knows"]


@pytest.mark.parametrize("odd", ["a\0b", "a\ud800b", "x" * 5000, "'; --", "{a,b}", ""])
async def test_any_string_may_be_a_name(world: World, directory: Directory, odd: str) -> None:
    world.tenant("one", "User:zoe")
    subjects = [f"User:{odd}", f"Group:{odd}", "User:zoe"]
    assert await ways(directory, *subjects, issuer=odd) == {"one": ["owner"]}
    assert await ways(directory, *subjects, only=world.numbers["one"]) == {"one": ["owner"]}


async def test_a_long_name_is_not_taken_for_an_owner_that_it_begins_with(
    world: World, directory: Directory
) -> None:
    longest = "User:" + "x" * 315
    world.tenant("one", longest)
    assert await ways(directory, longest) == {"one": ["owner"]}
    assert await ways(directory, longest + "x") == {}


@pytest.mark.parametrize("bindings", [1, 3])
async def test_ten_thousand_are_told_in_parts_and_counted(
    world: World, directory: Directory, bindings: int
) -> None:
    """By reading all that is bound, and by walking from tenant to tenant."""
    world.many(10_000, "Group:all-of-us", bindings)
    seen, after = list[str](), ""
    for part in range(10):
        rows = await directory.own(["User:zoe", "Group:all-of-us"], 0, "", after)
        assert (len(rows), rows[0][-1]) == (owntenants.MOST, 10_000 - part * owntenants.MOST)
        seen += [row[0] for row in rows]
        after = seen[-1]
    assert seen == sorted(f"many-{i}" for i in range(1, 10_001))
    assert await directory.own(["User:zoe", "Group:all-of-us"], 0, "", after) == []
    assert await ways(directory, "User:u77") == {"many-77": ["binding"]}


async def test_what_comes_behind_a_name_is_told(world: World, directory: Directory) -> None:
    numbers = [world.tenant(f"part-{letter}", "User:zoe") for letter in "abc"]
    assert list(await ways(directory, "User:zoe", after="part-a")) == ["part-b", "part-c"]
    assert list(await ways(directory, "User:zoe", after="part-b-and-more")) == ["part-c"]
    assert await ways(directory, "User:zoe", only=numbers[1], after="part-b") == {}
    assert list(await ways(directory, "User:zoe", only=numbers[1], after="part-a")) == ["part-b"]


def test_bindings_of_one_subject_do_not_add_up(world: World, postgres: str) -> None:
    """Tenants that bind somebody often do not make the question slow: few pages are looked at."""
    world.many(20, "User:zoe", bindings=10_000)
    with psycopg.connect(postgres) as connection:
        connection.execute("SET LOCAL polyplane.tenant = 'all'")
        asked = "SELECT count(*) FROM pp_bound_in(ARRAY['User:zoe'])"
        found = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {asked}").fetchone()
        count = connection.execute(asked).fetchone()
    assert found is not None and count == (20,)
    plan = found[0][0]["Plan"]
    pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    assert pages < 1_300, pages  # 700, and 2600 where all are read
