"""Members of specs that belong to features which kube-apiserver 1.36 has off by default: it
drops them without a word.

It drops in PrepareForCreate and PrepareForUpdate, unless the stored object uses the feature, which
none can. Whoever sent them owns them nevertheless. The APIs that go with them (workloads, trust
bundles, pod certificates) are not served either.
"""

from __future__ import annotations

from apiserver.kinds.common.visit import containers
from apiserver.meta.objects import Object, ReadOnlyObject

_SCHEDULING = "schedulingGroup"
_PROJECTIONS = ("clusterTrustBundle", "podCertificate")
_STOP = "stopSignal"
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def drop(spec: Object, stored: ReadOnlyObject | None = None) -> None:
    """``spec``: of a pod. A projected source of a dropped kind stays behind empty, a lifecycle that
    said nothing but a stop signal does not. ``stored``: the pod's spec as it is, which keeps stop
    signals from when they were not dropped here: it may not change."""
    spec.pop(_SCHEDULING, None)
    if not _stopped(stored or {}):
        for container in _stopped(spec):
            del container["lifecycle"][_STOP]
            if not container["lifecycle"]:
                del container["lifecycle"]
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            for name in _PROJECTIONS:
                source.pop(name, None)


def _stopped(spec: ReadOnlyObject) -> list[Object]:
    """The containers that have a stop signal."""
    return [c for c in containers(spec) if (c.get("lifecycle") or {}).get(_STOP) is not None]


def drop_status(status: Object) -> None:
    """``status``: of a pod (ImageVolumeWithDigest, DRANodeAllocatableResources)."""
    status.pop("nodeAllocatableResourceClaimStatuses", None)
    for kind in _STATUSES:
        for container in status.get(kind) or ():
            for mount in container.get("volumeMounts") or ():
                mount.pop("volumeStatus", None)


def drop_foreign_source(claim: Object, stored: ReadOnlyObject) -> None:
    """``claim``: a persistent volume claim's spec, whose data may not come from another
    namespace (CrossNamespaceVolumeDataSource), unless what is ``stored`` refers to some data."""
    foreign = (claim.get("dataSourceRef") or {}).get("namespace")
    if foreign and stored.get("dataSourceRef") is None:
        del claim["dataSourceRef"]
