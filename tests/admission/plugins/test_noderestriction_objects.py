"""NodeRestriction: what nodes may do with their Node and the objects that come with it."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from admission.plugins.noderestriction import CLAIMS, CSI_NODES, LEASES, NODES, REQUESTS, SLICES
from apiserver.meta.objects import Object
from tests.support.noderestriction import by_node, told


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
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)]))
        .sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    )
    text = base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()
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
