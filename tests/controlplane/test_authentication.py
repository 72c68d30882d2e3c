"""Whether somebody without a credential may come, by the settings."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from admission.webhooks.addresses import AddressPolicy
from apiserver.authn.configuration import Anonymous
from controlplane.authentication import Identities
from controlplane.tenancy.directory import Directory


async def _nothing(*asked: Any) -> Any:
    raise AssertionError("nobody asks for a tenant")


async def started() -> Anonymous:
    identities = Identities(Directory(_nothing), AddressPolicy(), [])
    try:
        identities.start()
        return identities.external.anonymous
    finally:
        identities.stop()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "authentication.yaml"
    monkeypatch.setenv("POLYPLANE_AUTHENTICATION_CONFIG_FILE", str(path))
    return path


def document(**more: Any) -> str:
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
    return yaml.safe_dump({**kind, "jwt": [], **more})


@pytest.mark.parametrize("mode", ["", "Node,RBAC", "RBAC,AlwaysDeny"])
async def test_anybody_may_ask(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_MODE", mode)
    assert (await started()).admits("/api")


@pytest.mark.parametrize("mode", ["AlwaysAllow", "RBAC, AlwaysAllow"])
async def test_nobody_may_who_would_be_allowed_everything(
    mode: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_MODE", mode)
    with caplog.at_level(logging.WARNING, "polyplane.authn"):
        assert not (await started()).admits("/api")
    assert "requests without a credential are refused" in caplog.text


def test_a_file_that_does_not_say_leaves_it_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(document())
    assert asyncio.run(started()).admits("/api")
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_MODE", "AlwaysAllow")
    assert not asyncio.run(started()).admits("/api")


def test_a_file_that_says_so_lets_them_in_all_the_same(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYPLANE_AUTHORIZATION_MODE", "AlwaysAllow")
    file.write_text(document(anonymous={"enabled": True, "conditions": [{"path": "/livez"}]}))
    anonymous = asyncio.run(started())
    assert anonymous.admits("/livez") and not anonymous.admits("/api")
