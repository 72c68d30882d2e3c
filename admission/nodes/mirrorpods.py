"""The pods that a node may create: mirrors of those that it runs anyway, owned by its Node. They
refer to no Secret, ConfigMap, claim or account: a node may read what its pods refer to, so it would
give itself the right to read them."""

from __future__ import annotations

from admission.nodes.asked import Asked, Refusal
from apiserver.kinds.common.podannotations import MIRROR
from apiserver.kinds.common.podreferences import config_maps, secrets
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object

_NODES = GroupResource("", "nodes")
_HARMLESS = frozenset(
    {
        *("awsElasticBlockStore", "azureDisk", "cephfs", "cinder", "downwardAPI", "emptyDir"),
        *("fc", "flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "hostPath", "image"),
        *("iscsi", "nfs", "photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO"),
        *("storageos", "vsphereVolume"),
    }
)
_VOLUMES = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_SOURCES = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


async def check(asked: Asked) -> None:
    """Raises Refusal, NotFound."""
    pod, node = asked.new, asked.node
    if MIRROR not in (pod["metadata"].get("annotations") or {}):
        raise Refusal(
            f'pod does not have "{MIRROR}" annotation, node "{node}" can only create mirror pods'
        )
    if pod["spec"].get("nodeName") != node:
        raise Refusal(f'node "{node}" can only create pods with spec.nodeName set to itself')
    await _check_owner(asked, pod["metadata"].get("ownerReferences") or [])
    if resource := reference(pod):
        raise Refusal(f'node "{node}" can not create pods that reference {resource}')


async def _check_owner(asked: Asked, owners: list[Object]) -> None:
    node, may = asked.node, f'node "{asked.node}" can only create pods with'
    if len(owners) > 1:
        raise Refusal(f"{may} a single owner reference set to itself")
    owner = owners[0] if owners else {}
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        raise Refusal(f"{may} an owner reference set to itself")
    if not owner.get("controller"):
        raise Refusal(f"{may} a controller owner reference set to itself")
    if owner.get("blockOwnerDeletion"):
        raise Refusal(f'node "{node}" must not set blockOwnerDeletion on an owner reference')
    uid = (await asked.find(_NODES, node))["metadata"].get("uid", "")
    if owner.get("uid", "") != uid:
        raise Refusal(f"node {node} UID mismatch: expected {uid} got {owner.get('uid', '')}")


def reference(pod: Object) -> str:
    """What of the API the pod refers to, as messages call it; "" for nothing (kubernetes
    ``pkg/api/pod`` HasAPIObjectReference)."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    for kind, names in (("secrets", secrets(spec)), ("configmaps", config_maps(spec))):
        if any(names):
            return kind
    if spec.get("resourceClaims"):
        return "resourceclaims"
    return next((of for volume in spec.get("volumes") or () if (of := _of_volume(volume))), "")


def _of_volume(volume: Object) -> str:
    if any(volume.get(kind) is not None for kind in _HARMLESS):
        return ""
    for kind, text in _VOLUMES.items():
        if volume.get(kind) is not None:
            return text
    sources = (volume.get("projected") or {}).get("sources") or ()
    parts = (text for s in sources for kind, text in _SOURCES.items() if s.get(kind) is not None)
    return next(parts, "")
