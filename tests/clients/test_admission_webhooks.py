"""Admission webhooks in a whole installation with two workers: obeyed by every worker as soon as
one has taken the configuration, and in no other tenant; and kopf's admission server."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from apiserver.meta.objects import Object
from tests.support.admissionhooks import (
    KINDS,
    collection,
    configmap,
    configuration,
    denying,
    entry,
)
from tests.support.installation import Installation, eventually, free_port
from tests.support.waiting import PATIENCE
from tests.support.webhooks import authority, certificate, webhook

pytestmark = pytest.mark.slow
MAPS = "/api/v1/namespaces/default/configmaps"
KOPF = shutil.which("kopf")


async def statuses(installation: Installation, path: str) -> set[int]:
    """Of requests that come over connections of their own, so that all workers get some."""
    asked = (
        asyncio.to_thread(installation.request, "POST", f"{path}?dryRun=All", configmap(f"m{i}"))
        for i in range(16)
    )
    return {status for status, _ in await asyncio.gather(*asked)}


async def test_every_worker_obeys_what_one_has_taken(installation: Installation) -> None:
    async def ask(method: str, path: str, body: Object | None = None) -> int:
        return (await asyncio.to_thread(installation.request, method, path, body))[0]

    async with webhook(denying) as hook:
        made = configuration("validating", entry(hook.config()))
        assert await ask("POST", collection("validating"), made) == 201
        assert await statuses(installation, MAPS) == {400}
        assert await statuses(installation, f"/clusters/demo{MAPS}") == {201}
        asked = [c["request"]["name"] for c in hook.calls]  # controllers write ConfigMaps as well
        assert len([name for name in asked if name.startswith("m")]) == 16
        assert await ask("DELETE", f"{collection('validating')}/hooks") == 200
        assert await statuses(installation, MAPS) == {201}


OPERATOR = """
import kopf


@kopf.on.startup()
def configure(settings, **_):
    files = dict(certfile="crt.pem", pkeyfile="key.pem", cafile="ca.pem")
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1", host="127.0.0.1", port=PORT, **files
    )
    settings.admission.managed = "auto.kopf.dev"


@kopf.on.validate("", "v1", "configmaps", id="guard")
def guard(body, warnings, **_):
    warnings.append("careful")
    if (body.get("data") or {}).get("evil"):
        raise kopf.AdmissionError("no evil here", code=499)


@kopf.on.mutate("", "v1", "configmaps", id="mark")
def mark(patch, **_):
    patch.metadata.labels["kopf"] = "was-here"
"""


@contextmanager
def operator(installation: Installation, directory: Path) -> Iterator[None]:
    """An operator of kopf that runs and has written its configurations."""
    Path(directory, "operator.py").write_text(OPERATOR.replace("PORT", str(free_port())))
    pem = authority("one")[0].public_bytes(serialization.Encoding.PEM)
    for name, content in zip(("crt", "key"), certificate("127.0.0.1"), strict=True):
        Path(directory, f"{name}.pem").write_bytes(content)
    Path(directory, "ca.pem").write_bytes(pem)
    kubeconfig = {"KUBECONFIG": str(installation.data / "admin.kubeconfig")}
    process = subprocess.Popen(
        [str(KOPF), "run", "--standalone", "--all-namespaces", "operator.py"],
        cwd=directory,
        env={**os.environ, **kubeconfig},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: all(_webhooks(installation, kind) for kind in KINDS))
        probe = configmap("probe")  # it writes them before it listens
        eventually(lambda: installation.request("POST", f"{MAPS}?dryRun=All", probe)[0] == 201)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _webhooks(installation: Installation, kind: str) -> Any:
    status, found = installation.request("GET", f"{collection(kind)}/auto.kopf.dev")
    return status == 200 and found.get("webhooks")


@pytest.mark.skipif(
    KOPF is None, reason="kopf is not on PATH: NOTHING of its admission server is tested"
)
def test_kopf(installation: Installation, tmp_path: Path) -> None:
    with operator(installation, tmp_path):
        status, made = installation.request("POST", MAPS, configmap("good", {"a": "b"}))
        assert status == 201 and made["metadata"]["labels"] == {"kopf": "was-here"}
        status, told = installation.request("POST", MAPS, configmap("bad", {"evil": "b"}))
        assert status == 499
        assert told["message"] == (
            'admission webhook "guard.auto.kopf.dev" denied the request: no evil here'
        )
