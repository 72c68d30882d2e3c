"""ServiceCIDR's status is nobody's own: kube-apiserver's strategy neither clears nor keeps it."""

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


def test_a_new_range_has_the_status_it_was_sent_with() -> None:
    assert create(service_range()).obj["status"] == {}
    assert create(service_range(status=READY)).obj["status"] == READY


def test_whoever_replaces_a_range_replaces_its_status() -> None:
    old = create(service_range(status=READY)).obj
    assert update(service_range(), old).obj["status"] == {}
    assert update(service_range(status=READY), old).obj["status"] == READY
