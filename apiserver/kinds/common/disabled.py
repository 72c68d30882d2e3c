"""Members of pod specs that belong to features which kube-apiserver 1.36 has off by default: it drops them without a word.

Upstream drops in PrepareForCreate and PrepareForUpdate, unless the stored object uses the feature; as no object can, dropping with the
defaults comes to the same. The APIs that go with them (workloads, trust bundles, pod certificates) are not served either.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_SCHEDULING = "schedulingGroup"
_PROJECTIONS = ("clusterTrustBundle", "podCertificate")


def drop(spec: Object) -> None:
    """A projected source of a dropped kind stays behind empty."""
    spec.pop(_SCHEDULING, None)
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            for name in _PROJECTIONS:
                source.pop(name, None)
