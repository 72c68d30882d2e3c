"""The pods that a node may create: mirrors of those that it runs anyway, owned by its Node, which
refer to nothing that it could read through them."""

from __future__ import annotations

from collections.abc import Iterator

from admission.nodes.asked import Asked, Refusal
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object

MIRROR = "kubernetes.io/config.mirror"
_NODES = GroupResource("", "nodes")
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_SECRET_REFS = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
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
    for kind, names in (("secrets", _secrets(spec)), ("configmaps", _config_maps(spec))):
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


def _secrets(spec: Object) -> Iterator[str]:
    for pull in spec.get("imagePullSecrets") or ():
        yield pull.get("name") or ""
    yield from _environment(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("azureFile") or {}).get("secretName") or ""
        yield (volume.get("secret") or {}).get("secretName") or ""
        for kind in _SECRET_REFS:
            yield ((volume.get(kind) or {}).get("secretRef") or {}).get("name") or ""
        yield ((volume.get("csi") or {}).get("nodePublishSecretRef") or {}).get("name") or ""
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("secret") or {}).get("name") or ""


def _config_maps(spec: Object) -> Iterator[str]:
    yield from _environment(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("configMap") or {}).get("name") or ""
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("configMap") or {}).get("name") or ""


def _environment(spec: Object, whole: str, key: str) -> Iterator[str]:
    for member in _CONTAINERS:
        for container in spec.get(member) or ():
            for source in container.get("envFrom") or ():
                yield (source.get(whole) or {}).get("name") or ""
            for variable in container.get("env") or ():
                yield ((variable.get("valueFrom") or {}).get(key) or {}).get("name") or ""
