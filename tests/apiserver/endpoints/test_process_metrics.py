"""What the server is, in metrics."""

from __future__ import annotations

import pytest

from apiserver.endpoints import process_metrics
from apiserver.endpoints.views.version import document
from apiserver.meta import features
from apiserver.storage.postgres import PostgresStore
from tests.support.api import serving


def test_the_build_is_what_version_says() -> None:
    (line,) = [x for x in _told("v1.36.2+x") if x.startswith("kubernetes_build_info{")]
    assert line.startswith(
        'kubernetes_build_info{major="1",minor="36",git_version="v1.36.2+x",git_commit="",'
        'git_tree_state="",build_date="",go_version="python'
    )
    assert 'compiler="' in line and 'platform="' in line and line.endswith("} 1")


@pytest.mark.parametrize("on", [True, False])
def test_gates_are_told_with_their_stage(monkeypatch: pytest.MonkeyPatch, on: bool) -> None:
    monkeypatch.setitem(features.ENABLED, "ClusterTrustBundle", on)
    told = _told("v1")
    name = 'kubernetes_feature_enabled{name="%s",stage="%s"} %d'
    assert name % ("ClusterTrustBundle", "BETA", on) in told
    assert name % ("ServerSideApply", "", 1) in told
    assert name % ("DeclarativeValidationTakeover", "DEPRECATED", 0) in told


async def test_a_tenant_is_told_as_well(store: PostgresStore, tenant: int) -> None:
    async with serving(store, tenant) as api:
        _, text = await api("GET", "/metrics")
    assert b"\nkubernetes_build_info{" in text and b"\nkubernetes_feature_enabled{" in text


def _told(version: str) -> list[str]:
    return b"".join(process_metrics.expose(document(version))).decode().splitlines()
