"""What nobody ever owns of an object: which one it is, and what the server alone writes
(apimachinery ``util/managedfields/internal/stripmeta.go``)."""

from __future__ import annotations

from apiserver.fieldmanager.fieldpath import FieldSet, difference, path_of, set_of

META = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
STRIPPED = set_of(
    path_of("apiVersion"),
    path_of("kind"),
    path_of("metadata"),
    *(path_of("metadata", name) for name in META),
)
"""What nobody ever owns."""


STRIPPED_META = frozenset(f"f:{name}" for name in META)


def owned_part(fields: FieldSet) -> FieldSet:
    """``fields`` without `STRIPPED`: its difference, in one step where nothing is below what goes,
    as in the set of an object."""
    metadata = fields.get("f:metadata")
    if fields.get("f:apiVersion") or fields.get("f:kind") or not metadata:
        return difference(fields, STRIPPED)
    kept = {}
    for element, node in metadata.items():
        if element not in STRIPPED_META:
            kept[element] = node
        elif node:
            return difference(fields, STRIPPED)
    kept.pop(".", None)
    rest = {**fields, "f:metadata": kept}
    rest.pop("f:apiVersion", None)
    rest.pop("f:kind", None)
    if not kept:
        del rest["f:metadata"]
    return rest
