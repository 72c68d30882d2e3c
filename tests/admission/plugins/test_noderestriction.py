from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from admission.attributes import Attributes
from admission.nodes.mirrorpods import MIRROR, reference
from admission.plugins.noderestriction import (
    ACCOUNTS,
    CLAIMS,
    CSI_NODES,
    LEASES,
    NODES,
    REQUESTS,
    SLICES,
    NodeRestriction,
)
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.user import User
from tests.support.plugins import PODS, Rights, World, asked, refusal, run

NODE = User("system:node:mine", groups=("system:nodes",))
DRIVERS = GroupResource("storage.k8s.io", "csidrivers")
VOLUMES = GroupResource("", "persistentvolumes")
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "mine", "uid": "n-1", "controller": True}


def pod(node: str = "mine", name: str = "p", **spec: Any) -> Object:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"u-{name}"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": node, **spec},
    }


def mirror(owner: Object | None = None, *more: Object, node: str = "mine", **spec: Any) -> Object:
    made = pod(node, **spec)
    made["metadata"]["annotations"] = {MIRROR: "x"}
    made["metadata"]["ownerReferences"] = [OWNER if owner is None else owner, *more]
    return made


def world() -> World:
    found = World().put(NODES, {"metadata": {"name": "mine", "uid": "n-1"}})
    return found.put(PODS, pod()).put(PODS, pod("other", "theirs"))


async def told(request: Attributes, *rights: str, around: World | None = None) -> str:
    """What is said of a request that is refused, "" for one that is not."""
    try:
        await run(NodeRestriction(Rights(*rights)), request, around or world())
    except Exception as error:
        return str(error).partition("forbidden: ")[2] or str(error)
    return ""


def by_node(obj: Object | None, old: Object | None = None, **more: Any) -> Attributes:
    return asked(obj, old, user=more.pop("user", NODE), **more)


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


def node(name: str = "mine", *, labels: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec}


FOREIGN = {"node-restriction.kubernetes.io/x": "1", "other.k8s.io/y": "1"}
OWN = {
    "kubernetes.io/hostname": "h",
    "topology.kubernetes.io/zone": "z",
    "x.node.kubernetes.io/y": "1",
    "kubelet.kubernetes.io/z": "1",
    "example.com/a": "1",
    "plain": "1",
}


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        (node(labels=OWN), None, ""),
        (node("other"), None, 'node "mine" is not allowed to modify node "other"'),
        (
            node(configSource={}),
            None,
            'node "mine" is not allowed to create pods with a non-nil configSource',
        ),
        (
            node(labels={**OWN, **FOREIGN}),
            None,
            'node "mine" is not allowed to set the following labels: '
            "node-restriction.kubernetes.io/x, other.k8s.io/y",
        ),
        (node(labels=OWN), node(), ""),
        (node(labels=FOREIGN), node(labels=FOREIGN), ""),
        (
            node(),
            node(labels=FOREIGN),
            "is not allowed to modify labels: node-restriction.kubernetes.io/x, other.k8s.io/y",
        ),
        (
            node(configSource={"configMap": {}}),
            node(),
            'node "mine" is not allowed to update configSource to a new non-nil configSource',
        ),
        (node(), node(configSource={}), ""),
        (node(), node(taints=[{"key": "a"}]), 'node "mine" is not allowed to modify taints'),
        (node(taints=[]), node(), ""),
        (
            {"metadata": {"name": "mine", "ownerReferences": [{"uid": "x"}]}},
            node(),
            'node "mine" is not allowed to modify ownerReferences',
        ),
        (None, node(), ""),
        (None, node("other"), 'node "mine" is not allowed to modify node "other"'),
    ],
)
async def test_a_node_changes_itself_only(new: Object | None, old: Object | None, why: str) -> None:
    assert await told(by_node(new, old, resource=NODES, namespace="")) == why


def claim(labels: Object | None = None, **status: Any) -> Object:
    metadata = {"name": "c", "labels": labels or {}, "managedFields": [str(status)]}
    return {"metadata": metadata, "spec": {"volumeName": "v"}, "status": status}


@pytest.mark.parametrize(
    ("new", "subresource", "why"),
    [
        (claim(capacity={"storage": "1Gi"}, conditions=[{}], phase="Bound"), "status", ""),
        (claim(allocatedResources={"storage": "1Gi"}, phase="Bound"), "status", ""),
        (
            claim(phase="Lost"),
            "status",
            'node "mine" is not allowed to update fields other than status.quantity and '
            "status.conditions: status",
        ),
        (
            claim({"a": "b"}, phase="Bound"),
            "status",
            'node "mine" is not allowed to update fields other than status.quantity and '
            "status.conditions: metadata",
        ),
        (claim(phase="Bound"), "", "may only update PVC status"),
    ],
)
async def test_nodes_tell_the_size_of_claims(new: Object, subresource: str, why: str) -> None:
    old = claim(phase="Bound")
    assert await told(by_node(new, old, resource=CLAIMS, subresource=subresource)) == why


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
    found = world().put(PODS, pod(volumes=list(volumes)))
    requests = [{"audience": "vault"}, {"audience": ""}]
    found.put(DRIVERS, {"metadata": {"name": "d"}, "spec": {"tokenRequests": requests}})
    files = {"metadata": {"name": "file.csi.azure.com"}, "spec": {"tokenRequests": requests}}
    found.put(DRIVERS, files)
    for name in ("c", "p-e"):
        claimed = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"volumeName": "v"}}
        found.put(CLAIMS, claimed)
    return found.put(VOLUMES, {"metadata": {"name": "v"}, "spec": {"csi": {"driver": "d"}}})


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


@pytest.mark.parametrize(
    ("namespace", "name", "why"),
    [
        ("kube-node-lease", "mine", ""),
        (
            "kube-node-lease",
            "other",
            "can only access node lease with the same name as the requesting node",
        ),
        ("ns", "mine", 'can only access leases in the "kube-node-lease" system namespace'),
    ],
)
async def test_a_node_has_one_lease(namespace: str, name: str, why: str) -> None:
    lease = {"metadata": {"name": name}}
    for new, old in ((lease, None), (lease, lease), (None, lease)):
        assert await told(by_node(new, old, resource=LEASES, namespace=namespace)) == why


async def test_a_node_has_one_csi_node() -> None:
    why = "can only access CSINode with the same name as the requesting node"
    for name, said in (("mine", ""), ("other", why)):
        of = {"metadata": {"name": name}}
        for new, old in ((of, None), (of, of), (None, of)):
            assert await told(by_node(new, old, resource=CSI_NODES, namespace="")) == said


async def test_a_node_makes_slices_of_its_own() -> None:
    own, other = ({"metadata": {"name": "s"}, "spec": {"nodeName": n}} for n in ("mine", "x"))
    why = "can only {} ResourceSlice with the same NodeName as the requesting node"
    for new, old, said in (
        (own, None, ""),
        (other, None, why.format("create")),
        (None, own, ""),
        (None, other, why.format("delete")),
        (other, other, ""),
    ):
        assert await told(by_node(new, old, resource=SLICES, namespace="")) == said


def csr(common_name: str, signer: str = "kubernetes.io/kubelet-serving") -> Object:
    made = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)]))
        .sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    )
    text = base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()
    return {"metadata": {"name": "r"}, "spec": {"signerName": signer, "request": text}}


async def test_a_node_asks_for_certificates_of_its_own() -> None:
    why = "can only create a node CSR with CN=system:node:mine"
    unreadable = {
        "metadata": {"name": "r"},
        "spec": {"signerName": "kubernetes.io/kubelet-serving"},
    }
    for body, said in (
        (csr("system:node:mine"), ""),
        (csr("system:node:other"), why),
        (csr("system:node:other", "example.com/s"), ""),
        (
            unreadable,
            "unable to parse csr: PEM block type must be CERTIFICATE REQUEST",
        ),
    ):
        assert await told(by_node(body, resource=REQUESTS, namespace="")) == said


async def test_other_objects_are_left_alone() -> None:
    maps = GroupResource("", "configmaps")
    assert not NodeRestriction(Rights()).handles(by_node({"metadata": {}}, resource=maps))


async def test_a_refusal_names_what_was_asked_for() -> None:
    error = await refusal(NodeRestriction(Rights()), by_node(pod()), world())
    assert (error.code, error.message[:27]) == (403, 'pods "p" is forbidden: pod ')
