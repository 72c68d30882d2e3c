"""Tenants with ports of their own, in front of two workers: clients that know host and port
only."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from websockets.exceptions import InvalidStatus

from tests.support.installation import Installation, eventually, free_port
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl
from tests.support.waiting import PATIENCE
from tests.support.websockets import first_event

pytestmark = pytest.mark.slow
SHOP = "/api/v1/namespaces/shop"
"""Tenant ``demo`` has it, ``default`` has not."""


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("ports"), prepared)
    ports = {"demo": free_port(), "default": free_port(), "later": free_port()}
    made.env["POLYPLANE_TENANT_PORTS"] = ",".join(f"{t}={p}" for t, p in ports.items())
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def config(installation: Installation) -> Any:
    done = installation.manage("kubeconfig", "demo", "--by-port")
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)


@pytest.fixture(scope="module")
def token(config: Any) -> str:
    return str(config["users"][0]["user"]["token"])


def port_of(installation: Installation, tenant: str) -> int:
    pairs = (word.split("=") for word in installation.env["POLYPLANE_TENANT_PORTS"].split(","))
    return int(dict(pairs)[tenant])


def answer(installation: Installation, port: int, path: str, token: str) -> tuple[int, bytes]:
    context = ssl.create_default_context(cafile=str(installation.data / "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=PATIENCE)
    try:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("GET", path, headers=headers)
        got = connection.getresponse()
        return got.status, got.read()
    finally:
        connection.close()


def test_what_a_port_leads_to(installation: Installation, token: str) -> None:
    root = installation.token
    demo, default = port_of(installation, "demo"), port_of(installation, "default")

    def status(port: int, path: str, secret: str) -> int:
        return answer(installation, port, path, secret)[0]

    for _ in range(8):  # connections, which the workers share
        assert status(demo, SHOP, root) == 200
        assert status(default, SHOP, root) == 404
        assert status(installation.port, SHOP, root) == 404
    assert status(demo, SHOP, token) == 200
    assert status(demo, f"/clusters/demo{SHOP}", token) == 200
    assert status(demo, f"/clusters/default{SHOP}", root) == 400
    assert status(default, SHOP, token) == 401, "a token leads to nobody else's port"
    assert status(demo, SHOP, "") == 403
    assert status(demo, SHOP, "pp_nonsense") == 401
    assert status(installation.port, SHOP, token) == 200, "the port of all is as it was"


def test_the_console_is_not_there(installation: Installation) -> None:
    demo = port_of(installation, "demo")
    assert answer(installation, installation.port, "/admin/login/", "")[0] == 200
    status, body = answer(installation, demo, "/admin/login/", "")
    assert status == 403 and json.loads(body)["kind"] == "Status"


def test_a_tenant_may_come_after_its_port(installation: Installation) -> None:
    port, root = port_of(installation, "later"), installation.token
    assert answer(installation, port, "/api/v1/namespaces/default", root)[0] == 404
    assert installation.manage("tenant", "create", "later").returncode == 0
    eventually(lambda: answer(installation, port, "/api/v1/namespaces/default", root)[0] == 200)


def test_a_websocket_comes_by_the_port(installation: Installation, token: str) -> None:
    context = ssl.create_default_context(cafile=str(installation.data / "ca.crt"))

    def watch(tenant: str) -> Any:
        port = port_of(installation, tenant)
        url = f"wss://127.0.0.1:{port}{SHOP}/configmaps?watch=true"
        return first_event(url, context, token=token)["type"]

    assert watch("demo") == "ADDED"
    with pytest.raises(InvalidStatus):
        watch("default")


@NEEDS_KUBECTL
def test_kubectl_by_port(installation: Installation, config: Any, tmp_path: Path) -> None:
    (cluster,) = config["clusters"]
    server = f"https://127.0.0.1:{port_of(installation, 'demo')}"
    assert cluster["cluster"]["server"] == server
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    kubectl = Kubectl(path, tmp_path, "demo")
    assert kubectl.get("ns", "shop")["metadata"]["name"] == "shop"
    assert json.loads(kubectl("get", "--raw", SHOP))["metadata"]["name"] == "shop"


def test_who_has_no_port_is_told_so(installation: Installation) -> None:
    refused = installation.manage("kubeconfig", "demo", "--by-port", POLYPLANE_TENANT_PORTS="")
    assert refused.returncode and "POLYPLANE_TENANT_PORTS=demo=7001" in refused.stderr
    both = installation.manage("kubeconfig", "demo", "--by-port", "--by-host")
    assert both.returncode and "not allowed with argument" in both.stderr


def test_a_port_that_is_taken_stops_the_start(installation: Installation, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        other = Installation(tmp_path)
        other.env["POLYPLANE_TENANT_PORTS"] = f"acme={port}"
        other.start(ready=False)
        assert other.process is not None and other.process.wait(PATIENCE) != 0
        assert f"Port {port} on 127.0.0.1 is taken" in other.output()
        assert "POLYPLANE_TENANT_PORTS=acme=" in other.output()
        assert not other.data.exists()
