"""Pods and their service accounts: tokens, pull secrets, and secrets that an account allows."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from admission.plugins.serviceaccount import ACCOUNTS, MOUNT_PATH, ServiceAccount
from apiserver.kinds.common.podannotations import MIRROR
from apiserver.kinds.core.serviceaccount import ENFORCE_MOUNTABLE
from apiserver.meta.objects import Object
from tests.support import plugins
from tests.support.plugins import World, asked, run

BECAUSE = "is not allowed because service account default does not reference that"


async def refusal(obj: Object, around: World, **request: Any) -> str:
    asking = asked(copy.deepcopy(obj), **request)
    return (await plugins.refusal(ServiceAccount(), asking, around)).message


def account(enforced: str | None = None, **members: Any) -> World:
    annotations = {} if enforced is None else {ENFORCE_MOUNTABLE: enforced}
    metadata = {"namespace": "ns", "name": "default", "annotations": annotations}
    return World().put(ACCOUNTS, {"metadata": metadata, **members})


def pod(container: Object | None = None, **spec: Any) -> Object:
    containers = [{"name": "c", "image": "i", **(container or {})}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def env(secret: str) -> Object:
    return {"env": [{"name": "V", "valueFrom": {"secretKeyRef": {"name": secret, "key": "k"}}}]}


def env_from(secret: str) -> Object:
    return {"envFrom": [{"secretRef": {"name": secret}}]}


def volume(secret: str) -> list[Object]:
    return [{"name": "v", "secret": {"secretName": secret}}]


def debugger(source: Object) -> list[Object]:
    return [{"name": "e", **source}]


REFERENCES = [
    (pod(volumes=volume("x")), 'volume with secret.secretName="x"', "secret"),
    (pod(env("x")), 'container c with envVar V referencing secret.secretName="x"', "secret"),
    (pod(env_from("x")), 'container c with envFrom referencing secret.secretName="x"', "secret"),
    (
        pod(initContainers=debugger(env("x"))),
        'init container e with envVar V referencing secret.secretName="x"',
        "secret",
    ),
    (
        pod(initContainers=debugger(env_from("x"))),
        'init container e with envFrom referencing secret.secretName="x"',
        "secret",
    ),
    (pod(imagePullSecrets=[{"name": "x"}]), 'imagePullSecrets[0].name="x"', "imagePullSecret"),
]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone", 'serviceaccount "gone" not found'),
        ("a/b%c", "invalid resource name \"a/b%c\": [may not contain '/' may not contain '%']"),
        ("..", "invalid resource name \"..\": [may not be '..']"),
    ],
)
async def test_an_account_that_is_missing(name: str, why: str) -> None:
    said = await refusal(pod(serviceAccountName=name), account())
    assert said == f'pods "p" is forbidden: error looking up service account ns/{name}: {why}'


@pytest.mark.parametrize(("obj", "text", "kind"), REFERENCES)
async def test_an_account_may_limit_secrets(obj: Object, text: str, kind: str) -> None:
    said = await refusal(obj, account("true"))
    assert said == f'pods "p" is forbidden: {text} {BECAUSE} {kind}'


@pytest.mark.parametrize(("obj", "text", "kind"), REFERENCES)
async def test_what_it_names_is_allowed(obj: Object, text: str, kind: str) -> None:
    named = {"secrets": [{"name": "x"}]}
    if kind == "imagePullSecret":
        named = {"imagePullSecrets": [{"name": "x"}]}
    await run(ServiceAccount(), asked(copy.deepcopy(obj)), account("true", **named))


@pytest.mark.parametrize("value", [None, "false", "0", "", "yes", "TRUE ", "truthy"])
async def test_only_an_annotation_that_is_true_limits_them(value: str | None) -> None:
    await run(ServiceAccount(), asked(pod(volumes=volume("x"))), account(value))


@pytest.mark.parametrize("value", ["1", "t", "T", "TRUE", "True"])
async def test_truth_as_go_spells_it(value: str) -> None:
    assert "not allowed" in await refusal(pod(volumes=volume("x")), account(value))


async def test_its_own_pull_secrets_are_given_and_allowed() -> None:
    around = account("true", imagePullSecrets=[{"name": "pull"}])
    admitted = await run(ServiceAccount(), asked(pod()), around)
    assert admitted is not None and admitted["spec"]["imagePullSecrets"] == [{"name": "pull"}]


@pytest.mark.parametrize(("source", "how"), [(env("x"), "envVar V"), (env_from("x"), "envFrom")])
async def test_ephemeral_containers(source: Object, how: str) -> None:
    old = pod(serviceAccountName="default")
    new = pod(env("old"), serviceAccountName="default", ephemeralContainers=debugger(source))
    request = asked(new, old, subresource="ephemeralcontainers")
    assert ServiceAccount().handles(request)
    said = await refusal(new, account("true"), old=old, subresource="ephemeralcontainers")
    assert (
        said
        == f'ephemeral container e with {how} referencing secret.secretName="x" {BECAUSE} secret'
    )
    await run(ServiceAccount(), request, account("true", secrets=[{"name": "x"}]))
    await run(ServiceAccount(), request, account())
    assert not ServiceAccount().handles(asked(new, old))


# --- mirror pods ----------------------------------------------------------------------------------
TOKEN = [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        (pod(serviceAccountName="default"), "reference service accounts"),
        (pod(volumes=volume("x")), "reference secrets"),
        (pod(env("x")), "reference secrets"),
        (pod(imagePullSecrets=[{"name": "x"}]), "reference secrets"),
        (pod(volumes=TOKEN), "use ServiceAccountToken volume projections"),
    ],
)
async def test_what_mirror_pods_may_not(obj: Object, why: str) -> None:
    obj = {**obj, "metadata": {"name": "p", "annotations": {MIRROR: "x"}}}
    said = await refusal(obj, account())
    assert said == f'pods "p" is forbidden: a mirror pod may not {why}'


async def test_a_mirror_pod_stays_as_it_is() -> None:
    obj = {**pod(), "metadata": {"name": "p", "annotations": {MIRROR: "x"}}}
    admitted = await run(ServiceAccount(), asked(obj), World())
    assert admitted == {**pod(), "metadata": obj["metadata"]}


# --- the token ------------------------------------------------------------------------------------
async def test_a_token_volume_that_is_there_is_used() -> None:
    volumes = [{"name": "data"}, {"name": "kube-api-access-abcde", "projected": {}}]
    admitted = await run(ServiceAccount(), asked(pod(volumes=volumes)), account())
    assert admitted is not None
    assert [v["name"] for v in admitted["spec"]["volumes"]] == ["data", "kube-api-access-abcde"]
    (mount,) = admitted["spec"]["containers"][0]["volumeMounts"]
    assert mount == {"name": "kube-api-access-abcde", "readOnly": True, "mountPath": MOUNT_PATH}


async def test_else_one_is_made() -> None:
    admitted = await run(ServiceAccount(), asked(pod()), account())
    assert admitted is not None
    (made,) = admitted["spec"]["volumes"]
    (mount,) = admitted["spec"]["containers"][0]["volumeMounts"]
    assert made["name"] == mount["name"] and made["name"].startswith("kube-api-access-")
    assert [next(iter(s)) for s in made["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]
