"""The audit log of an installation whose processes are killed under load: every write that was
acknowledged has exactly one complete entry, every version in the log has one, and what was refused
has none."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from controlplane.database import conninfo
from controlplane.datadir import DataDir
from controlplane.embedded.server import database_settings
from tests.support.installation import Installation, alive, eventually
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

WRITERS = 4
ROOT = "/api/v1/namespaces/default/configmaps"
VERBS = {"POST": "create", "PUT": "update", "DELETE": "delete"}
MERGED = """
SELECT count(*) FILTER (WHERE entries = 0), count(*) FILTER (WHERE entries > 1), count(*) FROM (
    SELECT (
        SELECT count(*) FROM audit_entries a WHERE a.tenant_id = e.tenant_id AND a.at = e.at
            AND a.resource_version = e.resource_version
    ) AS entries FROM events e
) AS found
"""
DOUBLED = """
SELECT count(*) FROM (
    SELECT 1 FROM audit_entries WHERE resource_version > 0
    GROUP BY tenant_id, resource_version HAVING count(*) > 1
) AS doubled
"""


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("audited"), prepared)
    made.env["POLYPLANE_AUDIT_LOG_PATH"] = str(made.log.parent / "audit.jsonl")
    made.start()
    yield made
    made.stop()


class Load:
    """Writers that create, change and delete, and remember the versions that they were told."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.acknowledged: dict[int, tuple[str, str]] = {}
        self.refused = 0
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(i,), daemon=True) for i in range(WRITERS)
        ]

    def _run(self, writer: int) -> None:
        connection = self.installation.connect()
        number = 0
        while not self._stop.is_set():
            number += 1
            name = f"w{writer}-{number}"
            body = {"metadata": {"name": name}}
            changed = {**body, "data": {"number": str(number)}}
            for method, path, sent in (
                ("POST", ROOT, body),
                ("POST", ROOT, body),  # is there already
                ("PUT", f"{ROOT}/{name}", changed),
                ("DELETE", f"{ROOT}/{name}", None),
            ):
                try:
                    self._ask(connection, method, path, name, sent)
                except (OSError, http.client.HTTPException):
                    connection.close()  # the next request opens it anew
                    time.sleep(0.05)
        connection.close()

    def _ask(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        name: str,
        body: Any,
    ) -> None:
        headers = {
            "Authorization": f"Bearer {self.installation.token}",
            "Content-Type": "application/json",
            "User-Agent": f"load/{name}",
        }
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        found = json.loads(answer.read())
        if answer.status in (200, 201) and method != "DELETE":
            version = int(found["metadata"]["resourceVersion"])
            self.acknowledged[version] = VERBS[method], name
        elif answer.status == 409:
            self.refused += 1

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        self.goes_on()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def goes_on(self) -> None:
        so_far = len(self.acknowledged)
        eventually(lambda: len(self.acknowledged) > so_far + 60, 120)


def kill_worker(installation: Installation) -> None:
    before = set(installation.below("serve --fd"))
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: len(set(installation.below("serve --fd")) - {victim}) == 2)


def kill_postgresql(installation: Installation) -> None:
    postmaster = installation.below("postgres -D")[0]
    for pid in [p for p in installation.below("postgres") if p != postmaster]:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    os.kill(postmaster, signal.SIGKILL)
    eventually(lambda: not alive(postmaster) and installation.below("postgres -D"))


def test_entries_are_the_acknowledged_writes_whatever_is_killed(
    installation: Installation,
) -> None:
    with Load(installation) as load:
        kill_worker(installation)
        load.goes_on()
        kill_postgresql(installation)
        load.goes_on()
        kill_worker(installation)
        load.goes_on()
    dsn = conninfo(database_settings(DataDir(installation.data)))
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT set_config('polyplane.tenant', 'all', true)")
        (missing, several, versions), *_ = connection.execute(MERGED).fetchall()
        assert (missing, several) == (0, 0)
        assert versions > len(load.acknowledged)
        assert connection.execute(DOUBLED).fetchone() == (0,)
        rows = connection.execute(
            "SELECT resource_version, verb, name, user_name, code, data FROM audit_entries "
            "WHERE resource_version = ANY(%s) AND resource = 'configmaps' AND namespace = 'default'"
            " AND data->>'userAgent' LIKE 'load/%%'",
            [list(load.acknowledged)],
        ).fetchall()
        conflicts = connection.execute(
            "SELECT count(*) FROM audit_entries WHERE code = 409 AND resource_version > 0"
        ).fetchone()
    assert {version: (verb, name) for version, verb, name, *_ in rows} == load.acknowledged
    for _version, verb, name, user, code, event in rows:
        assert (user, code) == ("admin", 201 if verb == "create" else 200)
        assert event["userAgent"] == f"load/{name}" and event["sourceIPs"] == ["127.0.0.1"]
        assert event["auditID"] and event["stage"] == "ResponseComplete"
    assert load.refused and conflicts == (0,)
    lines = Path(installation.env["POLYPLANE_AUDIT_LOG_PATH"]).read_text().splitlines()
    events = [line for line in lines if line.startswith("{") and line.endswith("}")]
    assert len(events) >= len(lines) - 2, "all but what the two that were killed were writing"
    assert json.loads(events[-1])["kind"] == "Event"
