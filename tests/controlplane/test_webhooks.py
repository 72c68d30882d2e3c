"""What the operator says about webhooks, and what holds when nothing is said."""

from __future__ import annotations

import pytest
from django.conf import settings

from controlplane.errors import OperatorError
from controlplane.webhooks import webhook_client


def permits(address: str) -> bool:
    return webhook_client().policy.permits(address)


@pytest.mark.parametrize(
    ("bind", "loopback"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.1.2.3", False),
    ],
)
def test_loopback_follows_what_the_server_listens_on(
    monkeypatch: pytest.MonkeyPatch, bind: str, loopback: bool
) -> None:
    monkeypatch.setattr(settings, "POLYPLANE_BIND", bind)
    assert permits("127.0.0.1") is loopback
    monkeypatch.setenv("POLYPLANE_WEBHOOK_LOOPBACK", str(not loopback))
    assert permits("::1") is not loopback


def test_networks_are_added_and_excepted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert permits("10.0.0.1") and not permits("169.254.169.254")
    monkeypatch.setenv("POLYPLANE_WEBHOOK_DENIED_NETWORKS", "10.0.0.0/8, fd00::/8")
    assert not permits("10.0.0.1") and not permits("fd00::1") and not permits("169.254.169.254")
    monkeypatch.setenv("POLYPLANE_WEBHOOK_ALLOWED_NETWORKS", "10.9.0.0/16,169.254.7.0/24")
    assert permits("10.9.1.1") and permits("169.254.7.7") and not permits("10.8.0.1")


def test_what_is_no_network_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_WEBHOOK_DENIED_NETWORKS", "10.0.0.0/99")
    with pytest.raises(OperatorError, match="POLYPLANE_WEBHOOK_DENIED_NETWORKS"):
        webhook_client()


def test_the_time_for_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    assert webhook_client().timeout == 30
    monkeypatch.setenv("POLYPLANE_WEBHOOK_TIMEOUT_SECONDS", "5")
    assert webhook_client().timeout == 5
