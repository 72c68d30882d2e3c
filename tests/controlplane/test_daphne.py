"""Daphne serves the same ASGI application as our own workers: reads, writes and a watch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.support.installation import REPOSITORY, eventually, free_port
from tests.support.waiting import PATIENCE

TENANT = "daphne"
NAMES = f"/clusters/{TENANT}/api/v1/namespaces/default/configmaps"


class Client:
    def __init__(self, port: int, token: str) -> None:
        self.port, self._base, self._token = port, f"http://127.0.0.1:{port}", token

    def open(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        sent = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._base + path, data, {**sent, **headers}, method=method
        )
        return urllib.request.urlopen(request, timeout=PATIENCE)

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        try:
            with self.open(method, path, body) as answer:
                return answer.status, _decoded(answer.read())
        except urllib.error.HTTPError as refusal:
            return refusal.code, _decoded(refusal.read())


def _decoded(body: bytes) -> Any:
    return json.loads(body) if body.startswith(b"{") else body.decode()


@pytest.fixture(scope="module")
def daphne(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A Daphne of its own over the database of the tests, and an administrator of a tenant."""
    from controlplane.tenancy import service, tokens

    tenant = service.create_tenant(TENANT)
    secret = tokens.create_token(
        "admin", groups=["system:masters"], tenant=tenant, lifetime=timedelta(hours=1)
    ).secret
    port, log = free_port(), tmp_path_factory.mktemp("daphne") / "log"
    command = [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(port)]
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "controlplane.asgi:application"],
            cwd=REPOSITORY,
            env=dict(os.environ),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        client = Client(port, secret)
        eventually(
            lambda: (
                process.poll() is not None or client("GET", f"/clusters/{TENANT}/readyz")[0] == 200
            )
        )
        assert process.poll() is None, log.read_text()
        yield client
    finally:
        process.terminate()
        process.wait(PATIENCE)


def config_map(name: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"a": "b"}}


def test_what_is_posted_is_read_back(daphne: Client) -> None:
    status, created = daphne("POST", NAMES, config_map("written"))
    assert status == 201
    assert daphne("GET", f"{NAMES}/written") == (200, created)
    assert daphne("GET", f"{NAMES}/missing")[1]["reason"] == "NotFound"


def test_a_watch_tells_what_is_written_meanwhile(daphne: Client) -> None:
    version = daphne("GET", NAMES)[1]["metadata"]["resourceVersion"]
    with daphne.open("GET", f"{NAMES}?watch=true&resourceVersion={version}") as stream:
        created = daphne("POST", NAMES, config_map("watched"))[1]
        event = json.loads(stream.readline())
        while event["object"]["metadata"]["name"] != "watched":
            event = json.loads(stream.readline())  # the namespace's own ConfigMap
    assert event == {"type": "ADDED", "object": created}


def test_a_document_comes_from_a_view_of_rest_framework(daphne: Client) -> None:
    status, document = daphne("GET", f"/clusters/{TENANT}/apis/apps/v1")
    assert status == 200 and document["kind"] == "APIResourceList"


def test_who_has_no_token_is_refused(daphne: Client) -> None:
    status, refusal = Client(daphne.port, "wrong")("GET", NAMES)
    assert status == 401 and refusal["reason"] == "Unauthorized"
