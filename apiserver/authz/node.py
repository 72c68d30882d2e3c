"""The Node authorizer: a node may read what the pods that are bound to it refer to, and little else
(kubernetes ``plugin/pkg/auth/authorizer/node``).

It opens nothing: a reader knows what belongs to a node. What it does not allow, others may. The
NodeRestriction admission plugin limits what a node writes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from apiserver.authz.attributes import READING, Attributes, Decision
from apiserver.authz.rules import Rule, rule_allows
from apiserver.golang.strconv import go_quote
from apiserver.meta.fields import FieldRequirement
from apiserver.meta.gvk import GroupResource
from apiserver.user import NODES, User

PREFIX = "system:node:"
NO_RULES = "node authorizer does not support user rule resolution"
LEASES_IN = "kube-node-lease"
ALLOWED, NO_OPINION = Decision(True), Decision(False)

SECRETS, CONFIG_MAPS = GroupResource("", "secrets"), GroupResource("", "configmaps")
CLAIMS = GroupResource("", "persistentvolumeclaims")
VOLUMES = GroupResource("", "persistentvolumes")
ACCOUNTS, PODS = GroupResource("", "serviceaccounts"), GroupResource("", "pods")
RESOURCE_CLAIMS = GroupResource("resource.k8s.io", "resourceclaims")
SLICES = GroupResource("resource.k8s.io", "resourceslices")
ATTACHMENTS = GroupResource("storage.k8s.io", "volumeattachments")
_LEASES = GroupResource("coordination.k8s.io", "leases")
_CSI_NODES, _NODES = GroupResource("storage.k8s.io", "csinodes"), GroupResource("", "nodes")

_OWN_VERBS = frozenset({"get", "create", "update", "patch", "delete"})


class Reader(Protocol):
    async def related(self, node: str, resource: GroupResource, namespace: str, name: str) -> bool:
        """Whether that object belongs to the node, or to a pod that is bound to it."""


def is_node(user: User) -> bool:
    """Whether the user claims to be a node and is believed; its name may still be empty."""
    return user.name.startswith(PREFIX) and NODES in user.groups


async def authorize(attributes: Attributes, reader: Reader, rules: Sequence[Rule]) -> Decision:
    """No opinion about users that are no nodes. rules: what every node may do, but for what is
    judged here object by object."""
    if not is_node(attributes.user):
        return NO_OPINION
    node = attributes.user.name.removeprefix(PREFIX)
    if not node:
        return Decision(False, f"unknown node for user {go_quote(attributes.user.name)}")
    if attributes.is_resource:
        judge = _JUDGES.get(GroupResource(attributes.group, attributes.resource))
        if judge is not None:
            return await judge(node, attributes, reader)
    return ALLOWED if any(rule_allows(rule, attributes) for rule in rules) else NO_OPINION


async def _related(node: str, asked: Attributes, reader: Reader) -> Decision:
    if not asked.name:
        return Decision(False, "No Object name found")
    resource = GroupResource(asked.group, asked.resource)
    if await reader.related(node, resource, asked.namespace, asked.name):
        return ALLOWED
    return Decision(False, f"no relationship found between node '{node}' and this object")


async def _read(node: str, asked: Attributes, reader: Reader) -> Decision:
    if asked.verb not in READING:
        return Decision(False, "can only read resources of this type")
    if asked.subresource:
        return Decision(False, "cannot read subresource")
    if not asked.namespace:
        return Decision(False, "can only read namespaced object of this type")
    return await _related(node, asked, reader)


async def _get(node: str, asked: Attributes, reader: Reader) -> Decision:
    if asked.verb != "get":
        return Decision(False, "can only get individual resources of this type")
    if asked.subresource:
        return Decision(False, "cannot get subresource")
    return await _related(node, asked, reader)


async def _claim(node: str, asked: Attributes, reader: Reader) -> Decision:
    if asked.subresource != "status":
        return await _get(node, asked, reader)
    if asked.verb not in ("update", "patch"):
        return Decision(False, "can only get/update/patch this type")
    return await _related(node, asked, reader)


async def _token(node: str, asked: Attributes, reader: Reader) -> Decision:
    if asked.verb != "create" or not asked.name:
        return Decision(False, "can only create tokens for individual service accounts")
    if asked.subresource != "token":
        return Decision(False, "can only create token subresource of serviceaccount")
    return await _related(node, asked, reader)


async def _lease(node: str, asked: Attributes, reader: Reader) -> Decision:
    """Admission compares the name of one that is created."""
    if asked.verb not in _OWN_VERBS:
        return Decision(False, "can only get, create, update, patch, or delete a node lease")
    if asked.namespace != LEASES_IN:
        return Decision(
            False, f"can only access leases in the {go_quote(LEASES_IN)} system namespace"
        )
    if asked.verb != "create" and asked.name != node:
        why = "can only access node lease with the same name as the requesting node"
        return Decision(False, why)
    return ALLOWED


async def _csi_node(node: str, asked: Attributes, reader: Reader) -> Decision:
    """Likewise."""
    if asked.verb not in _OWN_VERBS:
        return Decision(False, "can only get, create, update, patch, or delete a CSINode")
    if asked.subresource:
        return Decision(False, "cannot authorize CSINode subresources")
    if asked.verb != "create" and asked.name != node:
        why = "can only access CSINode with the same name as the requesting node"
        return Decision(False, why)
    return ALLOWED


async def _slice(node: str, asked: Attributes, reader: Reader) -> Decision:
    if asked.subresource:
        return Decision(False, "cannot authorize ResourceSlice subresources")
    if asked.verb == "create":
        return ALLOWED
    if asked.verb in ("get", "update", "patch", "delete"):
        return await _related(node, asked, reader)
    if asked.verb not in ("watch", "list", "deletecollection"):
        verbs = "get, watch, list, create, update, patch, delete, deletecollection"
        return Decision(False, f"only the following verbs are allowed for a ResourceSlice: {verbs}")
    if _limited(asked, node):
        return ALLOWED
    why = "can only list/watch/deletecollection resourceslices with nodeName field selector"
    return Decision(False, why)


async def _node(node: str, asked: Attributes, reader: Reader) -> Decision:
    """Its name is compared, so that a kubelet may look for its Node before it makes it."""
    if asked.subresource == "status":
        return ALLOWED if asked.verb in ("update", "patch") else NO_OPINION
    if asked.subresource:
        return NO_OPINION
    if asked.verb in ("create", "update", "patch"):
        return ALLOWED
    if asked.verb not in READING:
        return NO_OPINION
    if asked.name == node:
        return ALLOWED
    what = f"'{asked.name}'" if asked.name else "all nodes"
    return Decision(False, f"node '{node}' cannot read {what}, only its own Node object")


async def _pod(node: str, asked: Attributes, reader: Reader) -> Decision:
    if asked.subresource == "status":
        return ALLOWED if asked.verb in ("update", "patch") else NO_OPINION
    if asked.subresource == "eviction":
        return ALLOWED if asked.verb == "create" else NO_OPINION
    if asked.subresource:
        return NO_OPINION
    if asked.verb in ("create", "delete"):
        return ALLOWED
    if asked.verb == "get":
        return await _get(node, asked, reader)
    if asked.verb not in ("list", "watch"):
        return NO_OPINION
    if _limited(asked, node):
        return ALLOWED
    if asked.name:
        return await _related(node, asked, reader)
    return Decision(False, "can only list/watch pods with spec.nodeName field selector")


def _limited(asked: Attributes, node: str) -> bool:
    own_pods = FieldRequirement("spec.nodeName", "=", node)
    return own_pods in asked.field_requirements


_JUDGES: dict[GroupResource, Callable[[str, Attributes, Reader], Awaitable[Decision]]] = {
    SECRETS: _read,
    CONFIG_MAPS: _read,
    CLAIMS: _claim,
    VOLUMES: _get,
    RESOURCE_CLAIMS: _get,
    ATTACHMENTS: _get,
    ACCOUNTS: _token,
    _LEASES: _lease,
    _CSI_NODES: _csi_node,
    SLICES: _slice,
    _NODES: _node,
    PODS: _pod,
}
