"""Clients that build URLs from host and port alone, with a token of one tenant or at a tenant's
host: kubectl and HTTP as they come, against two workers."""

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

from tests.support.installation import Installation
from tests.support.kubectl import NEEDS_KUBECTL, Kubectl
from tests.support.waiting import PATIENCE
from tests.support.websockets import first_event

pytestmark = pytest.mark.slow
DOMAIN = "t.example.com"
SHOP = "/api/v1/namespaces/shop"
"""Tenant ``demo`` has it, ``default`` has not."""


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("clients"), prepared)
    made.env["POLYPLANE_TENANT_DOMAIN"] = DOMAIN
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def config(installation: Installation) -> Any:
    """The kubeconfig of tenant demo, with a token that is good there only."""
    done = installation.manage("kubeconfig", "demo")
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)


@pytest.fixture(scope="module")
def token(config: Any) -> str:
    return str(config["users"][0]["user"]["token"])


def kubectl(config: Any, server: str, tmp_path: Path, **cluster: str) -> Kubectl:
    (entry,) = config["clusters"]
    changed = {**config, "clusters": [{**entry, "cluster": {**entry["cluster"], **cluster}}]}
    changed["clusters"][0]["cluster"]["server"] = server
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(changed))
    return Kubectl(path, tmp_path, "demo")


@NEEDS_KUBECTL
@pytest.mark.parametrize("server_name", ["", f"demo.{DOMAIN}"])
def test_kubectl_without_the_prefix(
    installation: Installation, config: Any, tmp_path: Path, server_name: str
) -> None:
    names = {"tls-server-name": server_name} if server_name else {}
    ctl = kubectl(config, f"https://127.0.0.1:{installation.port}", tmp_path, **names)
    assert ctl.get("ns", "shop")["metadata"]["name"] == "shop"
    assert json.loads(ctl("get", "--raw", SHOP))["metadata"]["name"] == "shop"
    assert "configmaps" in ctl("api-resources", "--api-group=")
    assert "FIELDS" in ctl("explain", "configmap")
    with ctl.watch("cm", "-n", "shop", "-o", "name") as watching:
        assert watching.line().startswith("configmap/")
    robot = ctl("create", "token", "default", "-n", "shop").strip()
    who = json.loads(ctl("auth", "whoami", "-o", "json", f"--token={robot}"))
    assert who["status"]["userInfo"]["username"] == "system:serviceaccount:shop:default"


def answer(
    installation: Installation, path: str, token: str, host: str = "", server_name: str = ""
) -> int:
    """The status of a GET; the certificate must be good for ``server_name``."""
    context = ssl.create_default_context(cafile=str(installation.data / "ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", installation.port, context=context)
    raw = socket.create_connection(("127.0.0.1", installation.port), timeout=PATIENCE)
    connection.sock = context.wrap_socket(raw, server_hostname=server_name or "127.0.0.1")
    headers = {"Host": host} if host else {}
    try:
        connection.request("GET", path, headers={**headers, "Authorization": f"Bearer {token}"})
        got = connection.getresponse()
        got.read()
        return got.status
    finally:
        connection.close()


def test_hosts_and_server_names(installation: Installation, token: str) -> None:
    root, demo, default = installation.token, f"demo.{DOMAIN}", f"default.{DOMAIN}"
    assert answer(installation, SHOP, root) == 404
    assert answer(installation, SHOP, root, host=demo) == 200
    assert answer(installation, SHOP, root, server_name=demo) == 200
    assert answer(installation, SHOP, root, host=f"{demo}:6443", server_name=demo) == 200
    assert answer(installation, f"/clusters/demo{SHOP}", root, host=demo) == 200
    assert answer(installation, f"/clusters/default{SHOP}", root, host=demo) == 400
    assert answer(installation, SHOP, root, host=demo, server_name=default) == 400
    assert answer(installation, SHOP, token) == 200
    assert answer(installation, SHOP, token, host=DOMAIN, server_name=DOMAIN) == 200
    assert answer(installation, SHOP, token, host=default) == 401
    assert answer(installation, f"/clusters/default{SHOP}", token) == 401


def test_a_websocket_knows_its_server_name(installation: Installation, token: str) -> None:
    context = ssl.create_default_context(cafile=str(installation.data / "ca.crt"))
    url = f"wss://127.0.0.1:{installation.port}{SHOP}/configmaps?watch=true"
    demo, default = f"demo.{DOMAIN}", f"default.{DOMAIN}"
    assert first_event(url, context, token=token, server_name=demo)["type"] == "ADDED"
    with pytest.raises(InvalidStatus):
        first_event(url, context, token=token, server_name=default)


def test_kubeconfig_by_host(installation: Installation) -> None:
    made = installation.manage("kubeconfig", "demo", "--by-host")
    (cluster,) = yaml.safe_load(made.stdout)["clusters"]
    assert cluster["cluster"]["server"] == f"https://demo.{DOMAIN}:{installation.port}"
    refused = installation.manage("kubeconfig", "demo", "--by-host", POLYPLANE_TENANT_DOMAIN="")
    assert refused.returncode and "POLYPLANE_TENANT_DOMAIN" in refused.stderr
