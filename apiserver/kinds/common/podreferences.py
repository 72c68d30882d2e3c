"""What a pod, or a volume that it mounts, refers to by name (kubernetes ``pkg/api/v1/pod``
VisitPodSecretNames and VisitPodConfigmapNames, ``pkg/api/v1/persistentvolume`` VisitPVSecretNames,
``k8s.io/dynamic-resource-allocation/resourceclaim`` Name)."""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.kinds.common.visit import containers
from apiserver.meta.objects import Object, ReadOnlyObject

_SECRET_REFS = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
_OF_NODES = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")
"""Secrets of a CSI volume that the node needs; others are its controller's."""


def secrets(spec: ReadOnlyObject) -> Iterator[str]:
    """Names, "" among them, of a PodSpec."""
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


def config_maps(spec: ReadOnlyObject) -> Iterator[str]:
    """Likewise."""
    yield from _environment(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("configMap") or {}).get("name") or ""
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("configMap") or {}).get("name") or ""


def _environment(spec: ReadOnlyObject, whole: str, key: str) -> Iterator[str]:
    for container in containers(spec):
        for source in container.get("envFrom") or ():
            yield (source.get(whole) or {}).get("name") or ""
        for variable in container.get("env") or ():
            yield ((variable.get("valueFrom") or {}).get(key) or {}).get("name") or ""


def volume_claims(pod: ReadOnlyObject) -> Iterator[str]:
    """Names of PersistentVolumeClaims."""
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim") is not None:
            yield volume["persistentVolumeClaim"].get("claimName") or ""
        elif volume.get("ephemeral") is not None:
            yield f"{pod['metadata']['name']}-{volume.get('name', '')}"


def resource_claims(pod: ReadOnlyObject) -> Iterator[str]:
    """Names of ResourceClaims; one made of a template is known by the pod's status."""
    status = pod.get("status") or {}
    generated = {
        entry.get("name"): entry.get("resourceClaimName") or ""
        for entry in status.get("resourceClaimStatuses") or ()
    }
    for claim in pod["spec"].get("resourceClaims") or ():
        yield claim.get("resourceClaimName") or generated.get(claim.get("name")) or ""
    yield (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName") or ""


def volume_secrets(volume: ReadOnlyObject) -> Iterator[tuple[str, str]]:
    """(namespace, name) of the secrets of a PersistentVolume that its node needs."""
    spec = volume.get("spec") or {}
    claim = (spec.get("claimRef") or {}).get("namespace") or ""
    azure: Object = spec.get("azureFile") or {}
    yield azure.get("secretNamespace") or claim, azure.get("secretName") or ""
    for kind in _SECRET_REFS:
        reference: Object = (spec.get(kind) or {}).get("secretRef") or {}
        own = "" if kind in ("cinder", "storageos") else claim
        yield reference.get("namespace") or own, reference.get("name") or ""
    for member in _OF_NODES:
        reference = (spec.get("csi") or {}).get(member) or {}
        yield reference.get("namespace") or "", reference.get("name") or ""
