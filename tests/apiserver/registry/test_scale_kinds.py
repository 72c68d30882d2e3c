"""What of a Scale is looked at although nobody stores it: its kind after a patch, and its metadata
(``pkg/apis/autoscaling/validation`` ValidateScale)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.registry.test_custom_resources import FOOS, define, foo
from tests.support.api import TYPES, Api
from tests.support.definitions import definition
from tests.support.kindtools import workload

DEPLOYMENTS = "/apis/apps/v1/namespaces/ns/deployments"
PATHS = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
CUSTOM = "k8s.io/client-go/scale/util.go:146"
BUILTIN = "pkg/api/legacyscheme/scheme.go:30"


async def deployment(api: Api) -> str:
    made = workload("Deployment")
    made["metadata"] = {"name": "x"}
    await api.ok("POST", DEPLOYMENTS, made)
    return f"{DEPLOYMENTS}/x/scale"


async def custom(api: Api) -> str:
    await define(api, definition(subresources={"scale": PATHS}))
    await api.ok("POST", FOOS, foo("x", spec={"replicas": 1}))
    return f"{FOOS}/x/scale"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"kind": "Pod"}, 'kind "Pod" is registered for version "autoscaling/v1"'),
        ({"apiVersion": "v2"}, 'kind "Scale" is registered for version "v2"'),
    ],
)
@pytest.mark.parametrize(("make", "scheme"), [(deployment, BUILTIN), (custom, CUSTOM)])
async def test_a_patch_leaves_a_scale_a_scale(
    api: Api, make: Any, scheme: str, changed: dict[str, str], named: str
) -> None:
    status, answer = await api.patch(await make(api), {**changed, "spec": {"replicas": 3}})
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "patch")
    assert answer["message"].endswith(f'no {named} in scheme "{scheme}"')


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"finalizers": ["x"]}, "metadata.finalizers[0]"),
        ({"labels": {"c c": "d"}}, "metadata.labels"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_metadata_that_is_not_stored_has_to_be_right(
    api: Api, method: str, metadata: dict[str, Any], field: str
) -> None:
    path = await deployment(api)
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {"replicas": 3}}
    scale["metadata"] = {"name": "x", **metadata}
    type = TYPES["merge"] if method == "PATCH" else "application/json"
    status, answer = await api(method, path, scale, type)
    assert (status, [c["field"] for c in answer["details"]["causes"]]) == (422, [field])
    assert answer["details"]["kind"] == "Scale"
    assert (await api.ok("GET", path))["spec"].get("replicas") != 3


async def test_a_custom_object_keeps_a_kind(api: Api) -> None:
    await define(api, definition(subresources={"status": {}}))
    await api.ok("POST", FOOS, foo("x"))
    for path in (f"{FOOS}/x", f"{FOOS}/x/status"):
        status, answer = await api.patch(path, {"kind": None})
        assert status == 422
        assert "patch: Invalid value: " in answer["message"]
        assert "Object 'Kind' is missing in '{" in answer["message"]
