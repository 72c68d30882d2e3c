"""NodeRestriction: which tokens of service accounts a node gets."""

from __future__ import annotations

import pytest

from admission.attributes import Attributes
from admission.plugins.noderestriction import ACCOUNTS, CLAIMS
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from tests.support.noderestriction import by_node, pod, told, world
from tests.support.plugins import PODS, World

DRIVERS = GroupResource("storage.k8s.io", "csidrivers")
VOLUMES = GroupResource("", "persistentvolumes")


def token(ref: Object | None = None, *audiences: str) -> Object:
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-p"}
    return {"spec": {"audiences": list(audiences), "boundObjectRef": {**bound, **(ref or {})}}}


def of_account(body: Object) -> Attributes:
    return by_node(body, resource=ACCOUNTS, subresource="token", name="a", kind="TokenRequest")


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        ({"kind": "Secret"}, "node requested token not bound to a pod"),
        ({"name": ""}, "node requested token not bound to a pod"),
        ({"apiVersion": "v2"}, "node requested token not bound to a pod"),
        ({"uid": ""}, "node requested token with a pod binding without a uid"),
        (
            {"uid": "x"},
            "the UID in the bound object reference (x) does not match the UID in record. The "
            "object might have been deleted and then recreated",
        ),
        (
            {"name": "theirs", "uid": "u-theirs"},
            "node requested token bound to a pod scheduled on a different node",
        ),
        ({"name": "gone"}, 'pods "gone" not found'),
    ],
)
async def test_tokens_are_of_pods_of_the_node(ref: Object, why: str) -> None:
    assert await told(of_account(token(ref))) == why


def around(*volumes: Object) -> World:
    near = world().put(PODS, pod(volumes=list(volumes)))
    requests = [{"audience": "vault"}, {"audience": ""}]
    near.put(DRIVERS, {"metadata": {"name": "d"}, "spec": {"tokenRequests": requests}})
    files = {"metadata": {"name": "file.csi.azure.com"}, "spec": {"tokenRequests": requests}}
    near.put(DRIVERS, files)
    for name in ("c", "p-e"):
        claimed = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"volumeName": "v"}}
        near.put(CLAIMS, claimed)
    return near.put(VOLUMES, {"metadata": {"name": "v"}, "spec": {"csi": {"driver": "d"}}})


def projected(audience: str) -> Object:
    source = {"serviceAccountToken": {"path": "t", "audience": audience}}
    return {"name": "t", "projected": {"sources": [source]}}


NOT_FOUND = (
    'audience "{}" not found in pod spec volume, system:node:mine is not authorized to request '
    "tokens for this audience"
)


@pytest.mark.parametrize(
    ("volume", "audiences", "why"),
    [
        (projected("vault"), ["vault"], ""),
        (projected(""), [], ""),
        (projected("other"), ["vault"], NOT_FOUND.format("vault")),
        (projected("vault"), ["vault", "b"], "node may only request 0 or 1 audiences"),
        ({"name": "x", "csi": {"driver": "d"}}, ["vault"], ""),
        ({"name": "x", "csi": {"driver": "d"}}, [], ""),
        ({"name": "x", "csi": {"driver": "d"}}, ["other"], NOT_FOUND.format("other")),
        (
            {"name": "x", "csi": {"driver": "none"}},
            ["vault"],
            'error validating audience "vault": csidriver.storage.k8s.io "none" not found',
        ),
        ({"name": "x", "azureFile": {"shareName": "s"}}, ["vault"], ""),
        ({"name": "x", "persistentVolumeClaim": {"claimName": "c"}}, ["vault"], ""),
        (
            {"name": "x", "persistentVolumeClaim": {"claimName": "d"}},
            ["vault"],
            'error validating audience "vault": persistentvolumeclaim "d" not found',
        ),
        ({"name": "e", "ephemeral": {"volumeClaimTemplate": {}}}, ["vault"], ""),
    ],
)
async def test_audiences_are_those_of_the_pod(
    volume: Object, audiences: list[str], why: str
) -> None:
    request = of_account(token(None, *audiences))
    assert await told(request, around=around(volume)) == why


async def test_an_audience_can_be_granted() -> None:
    request = of_account(token(None, "vault"))
    assert await told(request, "request-serviceaccounts-token-audience vault a") == ""
    assert await told(request, "request-serviceaccounts-token-audience other a") != ""


async def test_audiences_are_free_without_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.ENABLED, "ServiceAccountNodeAudienceRestriction", False)
    assert await told(of_account(token(None, "a", "b"))) == ""
