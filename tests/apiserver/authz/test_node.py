"""What a node may do, request by request."""

from __future__ import annotations

import pytest

from apiserver.authorizers.nodes import node_rules
from apiserver.authz import node as n
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.node import authorize
from apiserver.meta.fields import FieldRequirement
from apiserver.meta.gvk import GroupResource
from apiserver.user import NODES, User

NODE = User("system:node:n1", groups=(NODES, "system:authenticated"))
OWN = {
    (n.SECRETS, "ns", "own"),
    (n.CONFIG_MAPS, "ns", "own"),
    (n.CLAIMS, "ns", "own"),
    (n.VOLUMES, "", "own"),
    (n.RESOURCE_CLAIMS, "ns", "own"),
    (n.ATTACHMENTS, "", "own"),
    (n.ACCOUNTS, "ns", "own"),
    (n.SLICES, "", "own"),
    (n.PODS, "ns", "own"),
}


class World:
    async def related(self, node: str, resource: GroupResource, namespace: str, name: str) -> bool:
        return node == "n1" and (resource, namespace, name) in OWN


async def decide(
    verb: str, what: str, namespace: str = "", name: str = "", user: User = NODE, selected: str = ""
) -> Decision:
    """``what``: resource[.group][/subresource]; ``selected``: a spec.nodeName to which a list is
    limited, "!" before it for another operator."""
    full, _, subresource = what.partition("/")
    resource, _, group = full.partition(".")
    operator = "!=" if selected.startswith("!") else "="
    terms = (FieldRequirement("spec.nodeName", operator, selected.lstrip("!")),) if selected else ()
    asked = Attributes(
        user, verb, group, "v1", resource, subresource, namespace, name, field_requirements=terms
    )
    return await authorize(asked, World(), node_rules())


DRA = "resourceslices.resource.k8s.io"
CSI, LEASE = "csinodes.storage.k8s.io", "leases.coordination.k8s.io"
WRITES = ["create", "update", "patch", "delete", "deletecollection"]

ALLOWED = [
    *[
        (verb, r, "ns", "own")
        for r in ("secrets", "configmaps")
        for verb in ("get", "list", "watch")
    ],
    ("get", "persistentvolumeclaims", "ns", "own"),
    ("update", "persistentvolumeclaims/status", "ns", "own"),
    ("patch", "persistentvolumeclaims/status", "ns", "own"),
    ("get", "persistentvolumes", "", "own"),
    ("get", "resourceclaims.resource.k8s.io", "ns", "own"),
    ("get", "volumeattachments.storage.k8s.io", "", "own"),
    ("create", "serviceaccounts/token", "ns", "own"),
    ("get", "pods", "ns", "own"),
    ("list", "pods", "ns", "own"),
    ("create", "pods", "ns", ""),
    ("delete", "pods", "ns", "any"),
    ("update", "pods/status", "ns", "any"),
    ("patch", "pods/status", "ns", "any"),
    ("create", "pods/eviction", "ns", "any"),
    *[(verb, "nodes", "", "any") for verb in ("create", "update", "patch")],
    *[(verb, "nodes", "", "n1") for verb in ("get", "list", "watch")],
    ("update", "nodes/status", "", "any"),
    ("patch", "nodes/status", "", "any"),
    *[(verb, LEASE, "kube-node-lease", "n1") for verb in ("get", "update", "patch", "delete")],
    ("create", LEASE, "kube-node-lease", ""),
    *[(verb, CSI, "", "n1") for verb in ("get", "update", "patch", "delete")],
    ("create", CSI, "", ""),
    ("create", DRA, "", ""),
    *[(verb, DRA, "", "own") for verb in ("get", "update", "patch", "delete")],
    # by rules that all nodes have
    ("list", "services", "", ""),
    ("create", "events", "ns", ""),
    ("create", "tokenreviews.authentication.k8s.io", "", ""),
    ("create", "certificatesigningrequests.certificates.k8s.io", "", ""),
    ("watch", "csidrivers.storage.k8s.io", "", ""),
    ("watch", "runtimeclasses.node.k8s.io", "", ""),
]
UNRELATED = "no relationship found between node 'n1' and this object"
REFUSED = [
    *[("get", r, "ns", "other", UNRELATED) for r in ("secrets", "configmaps", "pods")],
    ("get", "secrets", "other", "own", UNRELATED),
    ("get", "secrets", "", "own", "can only read namespaced object of this type"),
    ("list", "secrets", "ns", "", "No Object name found"),
    ("watch", "configmaps", "", "", "can only read namespaced object of this type"),
    *[(verb, "secrets", "ns", "own", "can only read resources of this type") for verb in WRITES],
    ("get", "persistentvolumeclaims", "ns", "other", UNRELATED),
    (
        "list",
        "persistentvolumeclaims",
        "ns",
        "own",
        "can only get individual resources of this type",
    ),
    ("get", "persistentvolumeclaims/status", "ns", "own", "can only get/update/patch this type"),
    ("update", "persistentvolumeclaims/status", "ns", "other", UNRELATED),
    (
        "update",
        "persistentvolumeclaims",
        "ns",
        "own",
        "can only get individual resources of this type",
    ),
    ("get", "persistentvolumes", "", "other", UNRELATED),
    ("list", "persistentvolumes", "", "", "can only get individual resources of this type"),
    ("get", "resourceclaims.resource.k8s.io", "ns", "other", UNRELATED),
    (
        "update",
        "resourceclaims.resource.k8s.io/status",
        "ns",
        "own",
        "can only get individual resources of this type",
    ),
    ("get", "volumeattachments.storage.k8s.io", "", "other", UNRELATED),
    ("get", "volumeattachments.storage.k8s.io/status", "", "own", "cannot get subresource"),
    ("create", "serviceaccounts/token", "ns", "other", UNRELATED),
    ("create", "serviceaccounts/token", "other", "own", UNRELATED),
    (
        "create",
        "serviceaccounts",
        "ns",
        "own",
        "can only create token subresource of serviceaccount",
    ),
    (
        "get",
        "serviceaccounts",
        "ns",
        "own",
        "can only create tokens for individual service accounts",
    ),
    ("list", "pods", "ns", "", "can only list/watch pods with spec.nodeName field selector"),
    ("update", "pods", "ns", "own", ""),
    ("create", "pods/exec", "ns", "own", ""),
    ("get", "pods/log", "ns", "own", ""),
    ("get", "nodes", "", "n2", "node 'n1' cannot read 'n2', only its own Node object"),
    ("list", "nodes", "", "", "node 'n1' cannot read all nodes, only its own Node object"),
    ("delete", "nodes", "", "n1", ""),
    ("get", "nodes/status", "", "n1", ""),
    ("update", "nodes/proxy", "", "n1", ""),
    (
        "list",
        LEASE,
        "kube-node-lease",
        "",
        "can only get, create, update, patch, or delete a node lease",
    ),
    ("get", LEASE, "ns", "n1", 'can only access leases in the "kube-node-lease" system namespace'),
    (
        "update",
        LEASE,
        "kube-node-lease",
        "n2",
        "can only access node lease with the same name as the requesting node",
    ),
    ("list", CSI, "", "", "can only get, create, update, patch, or delete a CSINode"),
    ("get", CSI, "", "n2", "can only access CSINode with the same name as the requesting node"),
    ("get", f"{CSI}/status", "", "n1", "cannot authorize CSINode subresources"),
    ("get", DRA, "", "other", UNRELATED),
    (
        "list",
        DRA,
        "",
        "",
        "can only list/watch/deletecollection resourceslices with nodeName field selector",
    ),
    ("get", f"{DRA}/status", "", "own", "cannot authorize ResourceSlice subresources"),
    ("delete", "services", "ns", "any", ""),
    ("get", "deployments.apps", "ns", "any", ""),
    ("create", "clusterrolebindings.rbac.authorization.k8s.io", "", "", ""),
]


@pytest.mark.parametrize(("verb", "what", "namespace", "name"), ALLOWED)
async def test_allowed(verb: str, what: str, namespace: str, name: str) -> None:
    assert await decide(verb, what, namespace, name) == Decision(True)


@pytest.mark.parametrize(("verb", "what", "namespace", "name", "why"), REFUSED)
async def test_refused(verb: str, what: str, namespace: str, name: str, why: str) -> None:
    assert await decide(verb, what, namespace, name) == Decision(False, why)


@pytest.mark.parametrize("what", ["pods", DRA])
@pytest.mark.parametrize(("selected", "allowed"), [("n1", True), ("n2", False), ("!n1", False)])
async def test_lists_are_limited_to_the_node(what: str, selected: str, allowed: bool) -> None:
    assert (await decide("list", what, selected=selected)).allowed is allowed
    assert (await decide("watch", what, selected=selected)).allowed is allowed


@pytest.mark.parametrize(
    ("user", "why"),
    [
        (User("alice", groups=(NODES,)), ""),
        (User("system:node:n1"), ""),
        (User("system:node:n1", groups=("system:nodesx",)), ""),
        (User("system:nodes:n1", groups=(NODES,)), ""),
        (User("system:node:", groups=(NODES,)), 'unknown node for user "system:node:"'),
        (
            User("system:node:n2", groups=(NODES,)),
            "no relationship found between node 'n2' and this object",
        ),
    ],
)
async def test_nobody_else_is_a_node(user: User, why: str) -> None:
    assert await decide("get", "secrets", "ns", "own", user) == Decision(False, why)
    assert (
        await decide("list", "services", user=User("system:node:", groups=(NODES,)))
    ).allowed is False
