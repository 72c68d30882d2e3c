from __future__ import annotations

import pytest

from tests.support.kindtools import create, update


@pytest.mark.parametrize(
    ("hard", "warning"),
    [
        (
            {"requests.cpu": "2", "limits.cpu": "1500m"},
            "ResourceQuota requests.cpu (2) should be less than limits.cpu (1500m)",
        ),
        (
            {"memory": "2Gi", "limits.memory": "1Gi"},
            "ResourceQuota memory (2Gi) should be less than limits.memory (1Gi)",
        ),
        ({"requests.cpu": "1", "cpu": "3", "limits.cpu": "2"}, None),
        ({"cpu": "1000m", "limits.cpu": "1"}, None),
        ({"cpu": "3"}, None),
        (
            {"requests.ephemeral-storage": "2", "limits.ephemeral-storage": "1"},
            "ResourceQuota requests.ephemeral-storage (2) should be less than "
            "limits.ephemeral-storage (1)",
        ),
        ({"ephemeral-storage": "2", "limits.ephemeral-storage": "1"}, None),
    ],
)
def test_requests_above_their_limits(hard: dict[str, str], warning: str | None) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": hard},
    }
    made = create(quota)
    assert made.errors == []
    assert made.warnings == ([] if warning is None else [warning])
    assert update(made.obj, made.obj).warnings == []
