"""NodeRestriction: whom it is about, and what nodes may do with pods."""

from __future__ import annotations

from typing import Any

import pytest

from admission.nodes.mirrorpods import MIRROR, reference
from admission.plugins.noderestriction import NodeRestriction
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.user import User
from tests.support.noderestriction import OWNER, by_node, mirror, pod, told, world
from tests.support.plugins import Rights, World, asked, refusal


@pytest.mark.parametrize(
    "user",
    [
        User("alice"),
        User("system:node:mine"),
        User("mine", groups=("system:nodes",)),
        User("system:nodes", groups=("system:nodes",)),
    ],
)
async def test_others_than_nodes_are_left_alone(user: User) -> None:
    assert await told(asked(pod(), user=user)) == ""


async def test_a_node_without_a_name_may_nothing() -> None:
    nameless = User("system:node:", groups=("system:nodes",))
    why = 'could not determine node from user "system:node:"'
    assert await told(by_node(mirror(), user=nameless)) == why


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        (mirror(), ""),
        (
            pod(),
            f'pod does not have "{MIRROR}" annotation, node "mine" can only create mirror pods',
        ),
        (
            mirror(node="other"),
            'node "mine" can only create pods with spec.nodeName set to itself',
        ),
        (
            mirror(OWNER, OWNER),
            'node "mine" can only create pods with a single owner reference set to itself',
        ),
        (
            mirror({**OWNER, "name": "other"}),
            'node "mine" can only create pods with an owner reference set to itself',
        ),
        (
            mirror({**OWNER, "kind": "Pod"}),
            'node "mine" can only create pods with an owner reference set to itself',
        ),
        (
            mirror({**OWNER, "controller": False}),
            'node "mine" can only create pods with a controller owner reference set to itself',
        ),
        (
            mirror({**OWNER, "blockOwnerDeletion": True}),
            'node "mine" must not set blockOwnerDeletion on an owner reference',
        ),
        (
            mirror({**OWNER, "uid": "n-2"}),
            "node mine UID mismatch: expected n-1 got n-2",
        ),
        (
            mirror(serviceAccountName="a"),
            'node "mine" can not create pods that reference serviceaccounts',
        ),
    ],
)
async def test_nodes_create_mirror_pods_of_their_own(obj: Object, why: str) -> None:
    assert await told(by_node(obj)) == why


async def test_a_node_that_is_not_there_owns_no_pod() -> None:
    assert await told(by_node(mirror()), around=World()) == 'nodes "mine" not found'


@pytest.mark.parametrize(
    ("spec", "resource"),
    [
        ({}, ""),
        ({"volumes": [{"name": "v", "emptyDir": {}}]}, ""),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"downwardAPI": {}}]}}]}, ""),
        ({"imagePullSecrets": [{"name": ""}]}, ""),
        ({"imagePullSecrets": [{"name": "s"}]}, "secrets"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "secrets"),
        ({"volumes": [{"name": "v", "rbd": {"secretRef": {"name": "s"}}}]}, "secrets"),
        ({"volumes": [{"name": "v", "configMap": {"name": "c"}}]}, "configmaps"),
        (
            {"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "c"}}]}]},
            "configmaps",
        ),
        (
            {
                "initContainers": [
                    {"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s"}}}]}
                ]
            },
            "secrets",
        ),
        ({"resourceClaims": [{"name": "r"}]}, "resourceclaims"),
        ({"volumes": [{"name": "v", "csi": {"driver": "d"}}]}, "csidrivers (via CSI volumes)"),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
            "persistentvolumeclaims",
        ),
        (
            {"volumes": [{"name": "v", "ephemeral": {}}]},
            "persistentvolumeclaims (via ephemeral volumes)",
        ),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {}}]}}]},
            "clustertrustbundles",
        ),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {}}]}}]},
            "serviceaccounts (via projected volumes)",
        ),
    ],
)
def test_what_a_pod_refers_to(spec: Object, resource: str) -> None:
    assert reference({"spec": spec}) == resource


async def test_nodes_delete_their_own_pods() -> None:
    assert await told(by_node(None, pod())) == ""
    why = 'node "mine" can only delete pods with spec.nodeName set to itself'
    assert await told(by_node(None, pod("other", "theirs"))) == why
    assert await told(by_node(None, pod(name="gone"))) == 'pods "gone" not found'


async def test_nodes_change_no_pods() -> None:
    why = 'unexpected operation "UPDATE", node "mine" can only create and delete mirror pods'
    assert await told(by_node(pod(), pod())) == why
    why = "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed"
    assert await told(by_node({"metadata": {"name": "p"}}, subresource="binding")) == why


def with_status(**status: Any) -> Object:
    return {**pod(), "status": status}


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        (with_status(phase="Running"), pod(), ""),
        (
            pod("other"),
            pod("other"),
            'node "mine" can only update pod status for pods with spec.nodeName set to itself',
        ),
        (
            {**pod(), "metadata": {"name": "p", "labels": {"a": "b"}}},
            pod(),
            'node "mine" cannot update labels through pod status',
        ),
        (
            with_status(resourceClaimStatuses=[{"name": "r", "resourceClaimName": "x"}]),
            with_status(resourceClaimStatuses=[{"name": "r"}]),
            'node "mine" cannot update resource claim statues',
        ),
        (
            with_status(extendedResourceClaimStatus={"resourceClaimName": "x"}),
            pod(),
            'node "mine" cannot update extended resource claim status',
        ),
    ],
)
async def test_nodes_tell_the_status_of_their_pods(new: Object, old: Object, why: str) -> None:
    assert await told(by_node(new, old, subresource="status")) == why


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("p", {"metadata": {}}, ""),
        ("", {"metadata": {"name": "p"}}, ""),
        (
            "theirs",
            {"metadata": {}},
            "node mine can only evict pods with spec.nodeName set to itself",
        ),
        ("", {"metadata": {}}, "could not determine pod from request data"),
        ("gone", {"metadata": {}}, 'pods "gone" not found'),
    ],
)
async def test_nodes_evict_their_own_pods(name: str, body: Object, why: str) -> None:
    assert await told(by_node(body, subresource="eviction", name=name)) == why


async def test_other_objects_are_left_alone() -> None:
    maps = GroupResource("", "configmaps")
    assert not NodeRestriction(Rights()).handles(by_node({"metadata": {}}, resource=maps))


async def test_a_refusal_names_what_was_asked_for() -> None:
    error = await refusal(NodeRestriction(Rights()), by_node(pod()), world())
    assert (error.code, error.message[:27]) == (403, 'pods "p" is forbidden: pod ')
