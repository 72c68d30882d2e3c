"""Who looks at values of Secrets at the console leaves one entry for each look.

| answer to somebody at the console | entries |
|---|---|
| GET of a Secret, of a revision of one, of two revisions' difference | 1 |
| GET as Table with objects; LIST, watch and past state with values | 1 |
| a patch that is only tried (dry run) | 1, as any change's |
| metadata alone or a Table without objects, filtered or sorted: values are guessed so | 1 |
| metadata alone, Table without objects, blame, other kinds | 0 |
| any of it by a token | what the policy says: 0 by the default |

It is so whatever the policy says, and whatever share of reads the table gets.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import pytest_asyncio

from apiserver.audit.policy import DEFAULT, parse
from apiserver.audit.recorder import Recorder
from apiserver.endpoints.request import Message
from apiserver.storage.auditlog import Row
from apiserver.storage.postgres import PostgresStore
from apiserver.user import User
from tests.support.api import Api, receive_of, serving

SECRETS = "/api/v1/namespaces/ns/secrets"
MAPS = "/api/v1/namespaces/ns/configmaps"
PAST = "/apis/history.polyplane.dev/v1/namespaces/ns/revisions"
VALUE = "aHVudGVyMi1odW50ZXIy"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
BARE = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
ANN = User("ann", "console:7", ("system:authenticated",))
NOTHING = parse({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "None"}]})


class World:
    """An API whose audit log is a list."""

    def __init__(self, api: Api) -> None:
        self.api, self.rows = api, list[Row]()

    def put(self, row: Row) -> None:
        self.rows.append(row)

    async def look(self, path: str, accept: str = "", method: str = "GET", body: Any = None) -> str:
        """What is answered to somebody at the console."""
        path, _, query = path.partition("?")
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [(b"accept", accept.encode() or b"application/json")]
        if body is not None:
            headers.append((b"content-type", b"application/merge-patch+json"))
        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
        scope |= {"query_string": query.encode(), "headers": headers}
        content = b"" if body is None else orjson.dumps(body)
        await self.api._entry.identified(ANN, scope, receive_of(content), send)
        assert sent[0]["status"] == 200, sent
        return b"".join(message.get("body", b"") for message in sent[1:]).decode()


@pytest_asyncio.fixture
async def world(store: PostgresStore, tenant: int) -> AsyncIterator[World]:
    """Secret ``one``, which has been changed once, and ConfigMap ``one``."""
    async with serving(store, tenant) as api:
        made = World(api)
        api.server.audit = api.registry.audit = Recorder(DEFAULT, table=made)
        await api.ok("POST", SECRETS, {"metadata": {"name": "one"}, "data": {"key": VALUE}})
        await api.ok("POST", MAPS, {"metadata": {"name": "one"}})
        await api.patch(f"{SECRETS}/one", {"data": {"key": VALUE[::-1][2:] + "=="}})
        await api.patch(f"{SECRETS}/one", {"data": {"key": VALUE}})
        made.rows.clear()
        yield made


async def revision(world: World) -> str:
    found = await world.api.ok("GET", f"{SECRETS}/one")
    return str(found["metadata"]["resourceVersion"])


LOOKS = [
    (f"{SECRETS}/one", ""),
    (f"{SECRETS}/one?includeObject=Object", TABLE),
    (SECRETS, ""),
    ("/api/v1/secrets", "application/yaml"),
    (f"{SECRETS}?includeObject=Object", TABLE),
    (f"{SECRETS}?watch=1&timeoutSeconds=1", ""),
    (f"{PAST}/REVISION", ""),
    (f"{PAST}/REVISION/diff", ""),
    (f"{PAST}?fieldSelector=asOf=REVISION,object.resource=secrets", ""),
]
GUESSES = [
    (f"{SECRETS}?filter=has(self.data)", TABLE),
    (f"{SECRETS}?sortBy=.data.key", BARE.replace("Metadata;", "MetadataList;")),
    (f"{SECRETS}?watch=1&timeoutSeconds=1&filter=has(self.data)", TABLE),
]
GLANCES = [
    (f"{SECRETS}/one", BARE),
    (f"{SECRETS}/one", TABLE),
    (SECRETS, TABLE),
    (SECRETS, BARE.replace("Metadata;", "MetadataList;")),
    (f"{SECRETS}?watch=1&timeoutSeconds=1", TABLE),
    (f"{PAST}/REVISION/blame", ""),
    (f"{PAST}?fieldSelector=object.name=one,object.resource=secrets", ""),
    (f"{MAPS}/one", ""),
    (MAPS, ""),
    (f"{MAPS}?filter=has(self.metadata.name)", TABLE),
]


@pytest.mark.parametrize(("path", "accept"), LOOKS)
@pytest.mark.parametrize(
    "recorder", [Recorder(), Recorder(NOTHING), Recorder(reads=0.0)], ids=["default", "none", "0%"]
)
async def test_each_look_leaves_one_entry(
    world: World, path: str, accept: str, recorder: Recorder
) -> None:
    version = await revision(world)
    world.api.server.audit = Recorder(recorder.policy, table=world, reads=recorder.reads)
    assert VALUE in await world.look(path.replace("REVISION", version), accept)
    (row,) = world.rows
    event = orjson.loads(row.entry.data)
    assert (row.entry.user, event["level"]) == ("ann", "Metadata")
    assert event["annotations"]["audit.polyplane.dev/secret-values"] == "shown"
    assert VALUE not in row.entry.data.decode()


@pytest.mark.parametrize(("path", "accept"), GUESSES)
async def test_each_guess_at_values_leaves_one_entry(world: World, path: str, accept: str) -> None:
    world.api.server.audit = Recorder(NOTHING, table=world)
    assert VALUE not in await world.look(path, accept)
    assert len(world.rows) == 1


@pytest.mark.parametrize(("path", "accept"), GLANCES)
async def test_what_shows_no_value_leaves_none(world: World, path: str, accept: str) -> None:
    version = await revision(world)
    assert VALUE not in await world.look(path.replace("REVISION", version), accept)
    assert world.rows == []


@pytest.mark.parametrize(("path", "accept"), LOOKS)
async def test_programs_are_the_policys_to_keep(world: World, path: str, accept: str) -> None:
    version = await revision(world)
    headers = {"accept": accept} if accept else {}
    status, _ = await world.api.raw("GET", path.replace("REVISION", version), b"", "", **headers)
    assert status == 200 and world.rows == []


async def test_a_change_that_is_only_tried_is_a_look_too(world: World) -> None:
    world.api.server.audit = world.api.registry.audit = Recorder(NOTHING, table=world)
    path = f"{SECRETS}/one?dryRun=All"
    assert VALUE in await world.look(path, method="PATCH", body={"metadata": {"labels": {}}})
    assert [row.entry.verb for row in world.rows] == ["patch"]
