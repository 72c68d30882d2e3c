"""The installation that is measured, the bare server beside it, and how one measurement is
taken."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from apiserver.meta.gvk import GroupResource
from apiserver.storage.interface import ObjectKey, Write
from apiserver.storage.postgres import PostgresStore
from controlplane.database import conninfo
from controlplane.datadir import DataDir
from controlplane.embedded.server import database_settings
from controlplane.supervisor.listener import bind, listen
from tests.benchmarks.client import Connection, Site, request
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.result import Measure
from tests.support.installation import REPOSITORY, Installation, eventually, free_port
from tests.support.waiting import PATIENCE

CLIENTS = 32
CONFIGMAPS = GroupResource("", "configmaps")
FILLING = 100  # bytes of data; with its metadata such a ConfigMap takes about 500


def configmap(name: str, **data: str) -> bytes:
    metadata = {"name": name, "labels": {"app": "bench"}}
    return json.dumps(
        {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": metadata,
            "data": {"fill": "x" * FILLING, **data},
        }
    ).encode()


class Bench:
    """seconds: how long each load lasts. Everything lives below ``path`` and ends with ``stop``."""

    def __init__(self, path: Path, seconds: float, say: Callable[[str], None]) -> None:
        self.path, self.seconds, self.say = path, seconds, say
        self.clients = CLIENTS
        self.installation = Installation(path)
        self.installation.env["POLYPLANE_WORKERS"] = self.workers = os.environ.get(
            "POLYPLANE_WORKERS", "2"
        )
        for limit in ("OBJECTS", "BYTES", "LOG_BYTES", "HOUR_BYTES"):  # a million objects fit in
            self.installation.env[f"POLYPLANE_TENANT_MAX_{limit}"] = "0"
        self.indexed: dict[int, float] = {}
        """Seconds in which a haystack of so many objects was indexed, which benchmarks share."""
        self._bare: list[subprocess.Popen[bytes]] = []

    # --- processes --------------------------------------------------------------------------------
    def start(self) -> None:
        self.installation.start()
        port = free_port()
        with bind("127.0.0.1", port) as listener:
            listen(listener)
            command = [sys.executable, "-m", "tests.benchmarks.bare", str(listener.fileno())]
            for _ in range(int(self.workers)):
                self._bare.append(
                    subprocess.Popen(
                        command,
                        env=self.installation.env,
                        cwd=REPOSITORY,
                        pass_fds=[listener.fileno()],
                    )
                )
        self.bare = Site(port)
        eventually(lambda: asyncio.run(self._answers(self.bare, "/10")))

    async def _answers(self, site: Site, path: str) -> bool:
        connection = await Connection.open(site)
        status = await connection.send(request(site, "GET", path))
        connection.close()
        return status == 200

    def stop(self) -> None:
        for process in self._bare:
            process.terminate()
        for process in self._bare:
            process.wait(PATIENCE)
        if self.installation.process is not None:
            self.installation.stop()

    @cached_property
    def site(self) -> Site:
        return Site(
            self.installation.port,
            b"Authorization: Bearer %b\r\n" % self.installation.token.encode(),
        )

    def worker_pids(self) -> list[int]:
        return self.installation.below("serve --fd")

    @cached_property
    def conninfo(self) -> str:
        return conninfo(database_settings(DataDir(self.installation.data)))

    # --- measuring --------------------------------------------------------------------------------
    async def measure(
        self, load: Callable[[], Awaitable[tuple[int, float]]], *, bare: bool = False
    ) -> Measure:
        """``load`` returns (operations, seconds)."""
        pids = [p.pid for p in self._bare] if bare else self.worker_pids()
        before = cpu_seconds(pids)
        count, seconds = await load()
        return Measure(count / seconds, (cpu_seconds(pids) - before) / max(count, 1) * 1e6, seconds)

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        connection = await Connection.open(self.site)
        try:
            return await connection.expect(request(self.site, method, path, body, content_type))
        finally:
            connection.close()

    async def on_every_worker(self, path: str) -> bytes:
        """GETs so often that no worker can have been left out; the last answer."""
        body = b""
        for _ in range(8 * int(self.workers)):
            body = await self.send("GET", path)
        return body

    # --- objects ----------------------------------------------------------------------------------
    async def namespace(self, name: str, tenant: str = "default") -> None:
        body = json.dumps({"metadata": {"name": name}}).encode()
        with suppress(RuntimeError):  # an earlier measurement has made it
            await self.send("POST", f"/clusters/{tenant}/api/v1/namespaces", body)

    async def fill(
        self,
        namespace: str,
        count: int,
        tenant: str = "default",
        owner: dict[str, Any] | None = None,
    ) -> None:
        """``count`` ConfigMaps as the API would store them, written to the store directly: seconds
        instead of minutes. owner: metadata of a ConfigMap that owns all but the first of them."""
        await self.namespace(namespace, tenant)
        path = f"/clusters/{tenant}/api/v1/namespaces/{namespace}/configmaps"
        model = json.loads(await self.send("POST", path, configmap("model")))
        del model["metadata"]["resourceVersion"]
        owners: tuple[str, ...] = ()
        if owner is not None:
            named = {"name": owner["name"], "uid": owner["uid"]}
            model["metadata"]["ownerReferences"] = [
                {"apiVersion": "v1", "kind": "ConfigMap", **named}
            ]
            owners = (owner["uid"],)
        store = PostgresStore(self.conninfo)
        await store.open()
        number = await self.tenant_number(tenant)

        async def write(name: str) -> None:
            model["metadata"]["name"], model["metadata"]["uid"] = name, str(uuid4())
            data = json.dumps(model, separators=(",", ":")).encode()
            await store.write(
                number,
                Write(
                    "create",
                    ObjectKey("", "configmaps", namespace, name),
                    model["metadata"]["uid"],
                    data,
                    owner_uids=owners,
                ),
            )

        await asyncio.gather(*(write(f"object-{i:06}") for i in range(count - 1)))
        await store.close()

    async def tenant_number(self, name: str) -> int:
        async with await psycopg.AsyncConnection.connect(self.conninfo) as connection:
            row = await (
                await connection.execute("SELECT id FROM tenancy_tenant WHERE name = %s", [name])
            ).fetchone()
            assert row is not None
            return int(row[0])
