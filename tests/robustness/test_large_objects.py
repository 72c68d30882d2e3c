"""Large objects of one tenant hold up nobody else: real posts to a real worker, by clients that
hang up."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.registry.test_large_definitions import versions
from tests.support.installation import Installation

pytestmark = pytest.mark.slow

VERSIONS = 6000
PATIENCE = 30.0
"""Seconds for a 100 KB ConfigMap; it took more than 300 before tenants took turns."""


@pytest.fixture
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("large"), prepared)
    made.env["POLYPLANE_WORKERS"] = "1"
    made.start()
    yield made
    made.stop()


def post(installation: Installation, path: str, body: Any, patience: float) -> int:
    headers = {"Authorization": f"Bearer {installation.token}", "Content-Type": "application/json"}
    with closing(installation.connect(timeout=patience)) as connection:
        connection.request("POST", path, json.dumps(body), headers)
        return connection.getresponse().status


def test_a_neighbour_is_served_while_a_tenant_posts_huge_definitions_and_hangs_up(
    installation: Installation,
) -> None:
    definitions = "/clusters/demo/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    crd = versions(
        VERSIONS, storage=False
    )  # refused: an error that quotes all versions takes longest

    def attack() -> None:
        with suppress(OSError, http.client.HTTPException):
            post(installation, definitions, crd, 1.0)

    for _ in range(2):
        attackers = [threading.Thread(target=attack) for _ in range(8)]
        for attacker in attackers:
            attacker.start()
        for i in range(3):
            config_map = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"generateName": f"c{i}-"},
                "data": {"a": "x" * 100_000},
            }
            assert (
                post(installation, "/api/v1/namespaces/default/configmaps", config_map, PATIENCE)
                == 201
            )
        for attacker in attackers:
            attacker.join()
    assert post(installation, definitions, crd, 120.0) == 422, (
        "whoever stays is answered, and none of the others is in the way"
    )
