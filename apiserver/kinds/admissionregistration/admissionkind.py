"""What all kinds that configure admission share: names that belong to manifests.

Source: k8s.io/kubernetes ``apis/admissionregistration/validation`` (static_suffix.go). With
ManifestBasedAdmissionControlConfig, which is off in 1.36, such names are errors on create.
"""

from __future__ import annotations

from apiserver.kinds.base import Kind, WriteContext
from apiserver.meta.objects import Object

_SUFFIX = ".static.k8s.io"
_RESERVED = (
    f'metadata.name: names ending with "{_SUFFIX}" are reserved for static manifest-based '
    "configurations and cannot be managed via the API"
)


class AdmissionKind(Kind):
    """Warns of a reserved name whenever something is written."""

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        return [_RESERVED] if obj["metadata"].get("name", "").endswith(_SUFFIX) else []
