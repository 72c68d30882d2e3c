"""A conversion webhook under kubectl, with two workers: two versions of one object, a new storage
version, and then a dead webhook."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

from tests.support.installation import Installation
from tests.support.kubectl import NEEDS_KUBECTL, PROGRAM
from tests.support.waiting import PATIENCE
from tests.support.webhooks import converting, nobody, webhook
from tests.support.widgets import crd, widget

pytestmark = [
    pytest.mark.slow,
    NEEDS_KUBECTL,
]


async def kubectl(installation: Installation, *arguments: str, body: Any = None) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM),
        "--kubeconfig",
        str(installation.data / "admin.kubeconfig"),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "HOME": str(installation.data.parent)},
    )
    out, _ = await process.communicate(json.dumps(body).encode() if body is not None else None)
    assert process.returncode is not None
    return process.returncode, out.decode()


async def ok(installation: Installation, *arguments: str, body: Any = None) -> str:
    code, out = await kubectl(installation, *arguments, body=body)
    assert code == 0, out
    return out


async def told(installation: Installation, name: str) -> None:
    """Until it has conditions: `kubectl wait` fails for what has none yet."""
    types = ("-o", "jsonpath={.status.conditions[*].type}")
    async with asyncio.timeout(PATIENCE):
        while not await ok(installation, "get", name, *types):
            pass  # asking takes a while


async def specs(installation: Installation, version: str) -> list[Any]:
    found = json.loads(
        await ok(installation, "get", f"widgets.{version}.example.com", "-n", "ns", "-o", "json")
    )
    return [item["spec"] for item in found["items"]]


async def manage(installation: Installation, *arguments: str) -> Any:
    return await asyncio.to_thread(installation.manage, *arguments)


async def test_a_life_in_two_versions(installation: Installation) -> None:
    async with webhook(converting) as hook:
        await ok(installation, "create", "namespace", "ns")
        await ok(installation, "apply", "-f", "-", body=crd(hook.config()))
        await told(installation, "crd/widgets.example.com")
        await ok(installation, "wait", "--for=condition=Established", "crd/widgets.example.com")
        await ok(
            installation,
            "apply",
            "--server-side",
            "--field-manager=one",
            "-f",
            "-",
            body=widget("a", host="h", port=1),
        )
        second = widget("a", "v2", address="h:1", replicas=2)
        await ok(
            installation, "apply", "--server-side", "--field-manager=two", "-f", "-", body=second
        )
        assert await specs(installation, "v1") == [{"host": "h", "port": 1, "replicas": 2}]
        await ok(installation, "scale", "widgets.v2.example.com/a", "-n", "ns", "--replicas=4")
        assert await specs(installation, "v2") == [{"address": "h:1", "replicas": 4}]

        await ok(installation, "apply", "-f", "-", body=crd(hook.config(), "v2"))
        done = await manage(installation, "migrate_storage", "--tenant", "default")
        assert done.returncode == 0, done.stderr
        assert "1 objects are now stored in v2; no longer in storedVersions: v1" in done.stdout
        path = ("get", "crd", "widgets.example.com", "-o", "jsonpath={.status.storedVersions}")
        assert await ok(installation, *path) == '["v2"]'
        assert await specs(installation, "v1") == [{"host": "h", "port": 1, "replicas": 4}]

    await ok(installation, "apply", "-f", "-", body=crd(nobody(), "v1"))
    code = 0
    async with asyncio.timeout(PATIENCE):
        while code == 0:  # a worker may need a moment to hear that v1 is stored again
            code, out = await kubectl(
                installation,
                "create",
                "-f",
                "-",
                "--dry-run=server",
                body=widget("b", "v2", address="x:1"),
            )
    assert (
        "conversion webhook for example.com/v2, Kind=Widget failed" in out
        and "connection refused" in out
    )
    done = await manage(installation, "migrate_storage", "--resource", "widgets.example.com")
    assert done.returncode != 0 and "ns/a failed" in done.stderr and "Traceback" not in done.stderr
    assert await specs(installation, "v2") == [{"address": "h:1", "replicas": 4}]
    await ok(installation, "delete", "crd", "widgets.example.com", "--timeout=240s")
