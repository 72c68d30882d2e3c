"""PartialObjectMetadata and its list: any object reduced to apiVersion, kind and metadata."""

from __future__ import annotations

from apiserver.errors import NotAcceptable
from apiserver.meta.objects import Object


def partial_object(obj: Object, version: str = "v1") -> Object:
    """``obj``: any object with metadata; ``version``: "v1" or "v1beta1" of meta.k8s.io."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj.get("metadata", {}),
    }


def list_metadata(metadata: Object) -> Object:
    """ListMeta as a typed list prints it: what is empty is left out."""
    return {
        k: metadata[k]
        for k in ("resourceVersion", "continue", "remainingItemCount", "shardInfo")
        if metadata.get(k) not in (None, "")
    }


def refuse_list(group: str, list_kind: str, *, custom: bool = False) -> NotAcceptable:
    """406 for PartialObjectMetadata of a list. The text names Go's internal type."""
    return NotAcceptable(
        f"you requested PartialObjectMetadata, but the requested object is a list "
        f"({_go_type(group, list_kind, custom)})"
    )


def refuse_object(group: str, kind: str, *, custom: bool = False) -> NotAcceptable:
    """406 for PartialObjectMetadataList of one object."""
    return NotAcceptable(
        f"you requested PartialObjectMetadataList, but the requested object is not a list "
        f"({_go_type(group, kind, custom)})"
    )


def _go_type(group: str, kind: str, custom: bool) -> str:
    if custom:
        return (
            "*unstructured.UnstructuredList"
            if kind.endswith("List")
            else "*unstructured.Unstructured"
        )
    package = group.partition(".")[0] or "core"
    return f"*{'core' if package == 'events' else package}.{kind}"
