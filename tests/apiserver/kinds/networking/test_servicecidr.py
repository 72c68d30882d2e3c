"""ServiceCIDR's status is written through /status alone (ServiceCIDRStatusFieldWiping, on since
1.36)."""

from __future__ import annotations

from typing import Any

from tests.support.kindtools import create, update

READY = {
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "reason": "r",
            "message": "",
        }
    ],
}


def service_range(**more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "r"},
        "spec": {"cidrs": ["10.1.0.0/16"]},
        **more,
    }


def test_a_new_range_has_no_status() -> None:
    assert create(service_range(status=READY)).obj["status"] == {}


def test_whoever_replaces_a_range_leaves_its_status() -> None:
    old = create(service_range()).obj
    old["status"] = READY
    assert update(service_range(), old).obj["status"] == READY
    assert update(service_range(status={}), old).obj["status"] == READY
