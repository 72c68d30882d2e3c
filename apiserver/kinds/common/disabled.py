"""Members of specs that belong to features which kube-apiserver 1.36 has off by default: it
drops them without a word.

It drops in PrepareForCreate and PrepareForUpdate, unless the stored object uses the feature, which
none can. Whoever sent them owns them nevertheless. The APIs that go with them (workloads, trust
bundles, pod certificates) are not served either.
"""

from __future__ import annotations

from apiserver.meta.objects import Object, ReadOnlyObject

_SCHEDULING = "schedulingGroup"
_PROJECTIONS = ("clusterTrustBundle", "podCertificate")


def drop(spec: Object) -> None:
    """``spec``: of a pod. A projected source of a dropped kind stays behind empty."""
    spec.pop(_SCHEDULING, None)
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            for name in _PROJECTIONS:
                source.pop(name, None)


def drop_foreign_source(claim: Object, stored: ReadOnlyObject) -> None:
    """``claim``: a persistent volume claim's spec, whose data may not come from another
    namespace (CrossNamespaceVolumeDataSource), unless that is ``stored``."""
    if _foreign(claim) and not _foreign(stored):
        del claim["dataSourceRef"]


def _foreign(claim: ReadOnlyObject) -> bool:
    return bool((claim.get("dataSourceRef") or {}).get("namespace"))
