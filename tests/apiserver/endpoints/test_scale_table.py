"""The Table of a Scale has columns of its own, whatever the scaled kind prints."""

from __future__ import annotations

from datetime import UTC, datetime

from apiserver.endpoints import scale_table
from apiserver.kinds import catalog
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Scope, Tenant
from apiserver.user import User


def test_a_scale_shows_what_is_wanted_and_what_there_is() -> None:
    found = catalog.resources()[GroupResource("apps", "deployments")]
    scope = Scope(
        Tenant(1, "t"),
        found,
        found.versions["v1"],
        User("ann"),
        "ns",
        "x",
        now=datetime(2026, 1, 1, 0, 5, tzinfo=UTC),
    )
    assert [(c.name, c.type, c.format) for c in scale_table.columns(scope)] == [
        ("Name", "string", ""),
        ("Desired", "integer", ""),
        ("Available", "integer", ""),
        ("Age", "string", ""),
    ]
    scale = {
        "metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"replicas": 3},
        "status": {},
    }
    assert scale_table.cells(scope, scale) == ["x", 3, 0, "5m"]
