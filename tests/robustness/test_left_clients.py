"""A client that hangs up before it has an answer, against a real worker: what it asked for is
either done by then or never done."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from controlplane.database import conninfo
from controlplane.datadir import DataDir
from controlplane.embedded.server import database_settings
from tests.support.installation import Installation, eventually
from tests.support.nastyhttp import HOST
from tests.support.raw import Raw

pytestmark = pytest.mark.slow

PATH = "/api/v1/namespaces/default/configmaps"
_MUTATING = re.compile(
    r'^apiserver_current_inflight_requests{request_kind="mutating"} (\S+)$', re.MULTILINE
)
_WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Iterator[Installation]:
    installation = Installation(tmp_path_factory.mktemp("left"), prepared)
    installation.env["POLYPLANE_WORKERS"] = "1"
    installation.start()
    yield installation
    installation.stop()


def post(server: Installation, name: str) -> Raw:
    """A connection whose answer has not been read."""
    body = json.dumps({"metadata": {"name": name}}).encode()
    client = Raw(server)
    client.send(
        f"POST {PATH} HTTP/1.1\r\n".encode(),
        HOST,
        f"Authorization: Bearer {server.token}\r\n".encode(),
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body),
        body,
    )
    return client


def get(server: Installation, path: str) -> str:
    client = Raw(server)
    client.send(
        f"GET {path} HTTP/1.1\r\n".encode(),
        HOST,
        f"Authorization: Bearer {server.token}\r\nConnection: close\r\n\r\n".encode(),
    )
    answer = client.rest().decode()
    assert answer.startswith("HTTP/1.1 200"), answer
    client.close()
    return answer.partition("\r\n\r\n")[2]


def mutating(server: Installation) -> int:
    """How many writes the worker is at."""
    [count] = _MUTATING.findall(get(server, "/metrics"))
    return int(float(count))


def names(server: Installation) -> set[str]:
    return {item["metadata"]["name"] for item in json.loads(get(server, PATH))["items"]}


def test_a_write_that_waits_is_never_done_once_its_client_has_left(server: Installation) -> None:
    """While somebody else holds the tenant's lock, one write is with the database and the others
    wait for it in the worker."""
    dsn = conninfo(database_settings(DataDir(server.data)))
    with psycopg.connect(dsn, autocommit=True) as database, psycopg.connect(dsn) as holder:
        row = database.execute("SELECT id FROM tenancy_tenant WHERE name = 'default'").fetchone()
        assert row is not None
        holder.execute("SELECT pg_advisory_xact_lock(5786, hashint8(%s))", [row[0]])
        sent = post(server, "sent")

        def waits() -> bool:
            waiting = database.execute(_WAITING).fetchone()
            return waiting is not None and waiting[0] > 0

        eventually(waits)
        leaving, staying = post(server, "leaves"), post(server, "stays")
        eventually(lambda: mutating(server) == 3)
        leaving.close()
        eventually(lambda: mutating(server) == 2)
        holder.rollback()
        for client in (sent, staying):
            status, answer = client.answer()
            assert status == 201, answer
            client.close()
    assert names(server) >= {"sent", "stays"} and "leaves" not in names(server)
