"""Lists of metrics change their owner with every update where Go does not remember the text of an
amount."""

from __future__ import annotations

import pytest

from apiserver.kinds.autoscaling.amounts import is_remembered
from apiserver.storage.postgres import PostgresStore
from tests.support.api import TYPES, serving
from tests.support.fixtures import store, tenant

__all__ = ["store", "tenant"]

SCALERS = "/apis/autoscaling/v2/namespaces/ns/horizontalpodautoscalers"


@pytest.mark.parametrize(
    ("amounts", "remembered"),
    [
        ("1 99 100 1k 100M 1200m 0 1e3 1Mi 4Mi 100Mi 63Mi 10Gi 100Gi 1Ti 10Ti", True),
        ("8Mi 16Mi 64Ki 64Mi 256Mi 1Pi 1536Mi 12345678901234567890", False),
    ],
)
def test_which_amounts_are_remembered(amounts: str, remembered: bool) -> None:
    assert {a: is_remembered(a) for a in amounts.split()} == dict.fromkeys(
        amounts.split(), remembered
    )


@pytest.mark.parametrize(("amount", "moves"), [("64Mi", True), ("100Mi", False)])
@pytest.mark.parametrize("how", ["put", "patch"])
async def test_the_owner_of_metrics(
    store: PostgresStore, tenant: int, amount: str, moves: bool, how: str
) -> None:
    target = {"type": "AverageValue", "averageValue": amount}
    body = {
        "metadata": {"name": "h"},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "metrics": [{"type": "Pods", "pods": {"metric": {"name": "m"}, "target": target}}],
        },
    }
    async with serving(store, tenant) as api:
        made = await api.ok("POST", f"{SCALERS}?fieldManager=one", body)
        path = f"{SCALERS}/h?fieldManager=two"
        if how == "put":
            await api.ok("PUT", path, made)
        else:
            await api.ok("PATCH", path, {"metadata": {"name": "h"}}, TYPES["merge"])
        after = await api.ok("GET", f"{SCALERS}/h")
    owners = [
        entry["manager"]
        for entry in after["metadata"]["managedFields"]
        if "f:metrics" in entry["fieldsV1"].get("f:spec", {})
    ]
    assert owners == ["two" if moves else "one"]
    assert (after["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]) is moves
