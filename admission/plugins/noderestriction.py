"""NodeRestriction: nodes change their own objects only, and those of their own pods (kubernetes
``plugin/pkg/admission/noderestriction``). A node is a user ``system:node:<name>`` of the group
system:nodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from admission.attributes import Attributes, Authorize, Lookup
from admission.nodes import audiences, labels, mirrorpods
from admission.nodes.asked import Asked, Refusal
from admission.objects import PODS
from admission.refusal import forbidden
from apiserver.golang.strconv import go_quote
from apiserver.kinds.certificates.requests import common_name
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.user import NODES as NODE_GROUP

NODES, CLAIMS, ACCOUNTS = (
    GroupResource("", r) for r in ("nodes", "persistentvolumeclaims", "serviceaccounts")
)
LEASES = GroupResource("coordination.k8s.io", "leases")
CSI_NODES = GroupResource("storage.k8s.io", "csinodes")
SLICES = GroupResource("resource.k8s.io", "resourceslices")
REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
PREFIX = "system:node:"
LEASE_NAMESPACE = "kube-node-lease"
_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
_ITSELF = "spec.nodeName set to itself"
_OF_NODES = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")
"""Members of a claim's status that its node writes."""


class NodeRestriction:
    name = "NodeRestriction"

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    def handles(self, attributes: Attributes) -> bool:
        return attributes.group_resource in _CHECKS and attributes.operation != "CONNECT"

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        user = attributes.user.name
        if not user.startswith(PREFIX) or NODE_GROUP not in attributes.user.groups:
            return
        asked = Asked(user.removeprefix(PREFIX), attributes, lookup, self._authorize)
        try:
            if not asked.node:
                raise Refusal(f"could not determine node from user {go_quote(user)}")
            await _CHECKS[attributes.group_resource](asked)
        except Refusal as refusal:
            raise forbidden(attributes, str(refusal)) from None


# --- pods -----------------------------------------------------------------------------------------
async def _pods(asked: Asked) -> None:
    match asked.attributes.subresource:
        case "":
            await _pod(asked)
        case "status":
            _pod_status(asked)
        case "eviction":
            await _eviction(asked)
        case other:
            raise Refusal(
                f"unexpected pod subresource {go_quote(other)}, only 'status' and 'eviction' are "
                "allowed"
            )


async def _pod(asked: Asked) -> None:
    operation = asked.attributes.operation
    if operation == "CREATE":
        await mirrorpods.check(asked)
    elif operation == "DELETE":
        pod = await asked.find(PODS, asked.attributes.name)
        if pod["spec"].get("nodeName") != asked.node:
            raise Refusal(f'node "{asked.node}" can only delete pods with {_ITSELF}')
    else:
        raise Refusal(
            f'unexpected operation "{operation}", node "{asked.node}" can only create and delete '
            "mirror pods"
        )


def _pod_status(asked: Asked) -> None:
    asked.expect("UPDATE")
    new, old, node = asked.new, asked.old, asked.node
    if old["spec"].get("nodeName") != node:
        raise Refusal(f'node "{node}" can only update pod status for pods with {_ITSELF}')
    if (old["metadata"].get("labels") or {}) != (new["metadata"].get("labels") or {}):
        raise Refusal(f'node "{node}" cannot update labels through pod status')
    if _claims_of(old) != _claims_of(new):
        raise Refusal(f'node "{node}" cannot update resource claim statues')
    member = "extendedResourceClaimStatus"
    if (old.get("status") or {}).get(member) != (new.get("status") or {}).get(member):
        raise Refusal(f'node "{node}" cannot update extended resource claim status')


def _claims_of(pod: Object) -> list[tuple[str, str | None]]:
    claims = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    return [(claim.get("name", ""), claim.get("resourceClaimName")) for claim in claims]


async def _eviction(asked: Asked) -> None:
    if asked.attributes.operation != "CREATE":
        raise Refusal(f"unexpected operation {asked.attributes.operation}")
    name = asked.attributes.name or asked.new["metadata"].get("name", "")
    if not name:
        raise Refusal("could not determine pod from request data")
    pod = await asked.find(PODS, name)
    if pod["spec"].get("nodeName") != asked.node:
        raise Refusal(f"node {asked.node} can only evict pods with {_ITSELF}")


# --- nodes and claims -----------------------------------------------------------------------------
async def _nodes(asked: Asked) -> None:
    node, attributes = asked.node, asked.attributes
    if attributes.name != node:
        raise Refusal(f'node "{node}" is not allowed to modify node {go_quote(attributes.name)}')
    if attributes.operation == "CREATE":
        if asked.new.get("spec", {}).get("configSource") is not None:
            raise Refusal(
                f'node "{node}" is not allowed to create pods with a non-nil configSource'
            )
        if forbidden := labels.forbidden(labels.modified(asked.new, {})):
            text = f'node "{node}" is not allowed to set the following labels: '
            raise Refusal(text + ", ".join(forbidden))
    elif attributes.operation == "UPDATE":
        _node_update(asked)


def _node_update(asked: Asked) -> None:
    node = asked.node
    new, old = (obj.get("spec") or {} for obj in (asked.new, asked.old))
    source = new.get("configSource")
    if source is not None and source != old.get("configSource"):
        raise Refusal(
            f'node "{node}" is not allowed to update configSource to a new non-nil configSource'
        )
    if (new.get("taints") or []) != (old.get("taints") or []):
        raise Refusal(f'node "{node}" is not allowed to modify taints')
    owners = [o["metadata"].get("ownerReferences") or [] for o in (asked.new, asked.old)]
    if owners[0] != owners[1]:
        raise Refusal(f'node "{node}" is not allowed to modify ownerReferences')
    if forbidden := labels.forbidden(labels.modified(asked.new, asked.old)):
        raise Refusal(f"is not allowed to modify labels: {', '.join(forbidden)}")


async def _claims(asked: Asked) -> None:
    if asked.attributes.subresource != "status":
        raise Refusal("may only update PVC status")
    asked.expect("UPDATE")
    old, new = (_of_others(claim) for claim in (asked.old, asked.new))
    if old != new:
        changed = sorted(m for m in old.keys() | new.keys() if old.get(m) != new.get(m))
        raise Refusal(
            f'node "{asked.node}" is not allowed to update fields other than status.quantity and '
            f"status.conditions: {', '.join(changed)}"
        )


def _of_others(claim: Object) -> Object:
    """What of a claim its node does not write."""
    metadata = _without(claim["metadata"], ("resourceVersion", "managedFields"))
    status = _without(claim.get("status") or {}, _OF_NODES)
    return {**claim, "metadata": metadata, "status": status}


def _without(values: Mapping[str, object], names: Iterable[str]) -> Object:
    return {name: value for name, value in values.items() if name not in names and value}


# --- what a node has beside pods ------------------------------------------------------------------
async def _accounts(asked: Asked) -> None:
    """A node asks for tokens of the accounts of its pods only."""
    attributes = asked.attributes
    if attributes.operation != "CREATE" or attributes.subresource != "token":
        return
    ref = asked.new["spec"].get("boundObjectRef") or {}
    if ref.get("apiVersion") != "v1" or ref.get("kind") != "Pod" or not ref.get("name"):
        raise Refusal("node requested token not bound to a pod")
    if not ref.get("uid"):
        raise Refusal("node requested token with a pod binding without a uid")
    pod = await asked.find(PODS, ref["name"])
    if ref["uid"] != pod["metadata"].get("uid"):
        raise Refusal(
            f"the UID in the bound object reference ({ref['uid']}) does not match the UID in "
            "record. The object might have been deleted and then recreated"
        )
    if pod["spec"].get("nodeName") != asked.node:
        raise Refusal("node requested token bound to a pod scheduled on a different node")
    if features.enabled(audiences.GATE):
        await audiences.check(asked, pod)


async def _leases(asked: Asked) -> None:
    if asked.attributes.namespace != LEASE_NAMESPACE:
        raise Refusal(f'can only access leases in the "{LEASE_NAMESPACE}" system namespace')
    if asked.own_name != asked.node:
        raise Refusal("can only access node lease with the same name as the requesting node")


async def _csi_nodes(asked: Asked) -> None:
    if asked.own_name != asked.node:
        raise Refusal("can only access CSINode with the same name as the requesting node")


async def _slices(asked: Asked) -> None:
    """Updates need no look: the Node authorizer lets a node change its own slices only, and a
    slice's node name is immutable."""
    operation = asked.attributes.operation
    if operation == "UPDATE":
        return
    of, verb = (asked.new, "create") if operation == "CREATE" else (asked.old, "delete")
    if ((of.get("spec") or {}).get("nodeName") or "") != asked.node:
        raise Refusal(
            f"can only {verb} ResourceSlice with the same NodeName as the requesting node"
        )


async def _requests(asked: Asked) -> None:
    spec = asked.new.get("spec") or {}
    if asked.attributes.operation != "CREATE" or spec.get("signerName") not in _SIGNERS:
        return
    try:
        name = common_name(spec.get("request") or "")
    except ValueError as error:
        raise Refusal(f"unable to parse csr: {error}") from None
    if name != f"{PREFIX}{asked.node}":
        raise Refusal(f"can only create a node CSR with CN={PREFIX}{asked.node}")


_CHECKS: Mapping[GroupResource, Callable[[Asked], Awaitable[None]]] = {
    PODS: _pods,
    NODES: _nodes,
    CLAIMS: _claims,
    ACCOUNTS: _accounts,
    LEASES: _leases,
    CSI_NODES: _csi_nodes,
    SLICES: _slices,
    REQUESTS: _requests,
}
