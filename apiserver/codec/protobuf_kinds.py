"""Which message and schema a kind has in protobuf, including v1beta1 of meta.k8s.io and
apidiscovery, which no OpenAPI document defines."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from apiserver.codec.protobuf_messages import fields, message_name
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema import builtin
from apiserver.schema.types import Schema

_META = "apimachinery.pkg.apis.meta.v1."
_DISCOVERY = "api.apidiscovery.v2."
_STRUCTS: dict[str, dict[str, str]] = {
    "APIGroupDiscoveryList": {"metadata": "ListMeta", "items": "[]APIGroupDiscovery"},
    "APIGroupDiscovery": {"metadata": "ObjectMeta", "versions": "[]APIVersionDiscovery"},
    "APIVersionDiscovery": {
        "version": "string",
        "resources": "[]APIResourceDiscovery",
        "freshness": "string",
    },
    "APIResourceDiscovery": {
        "resource": "string",
        "responseKind": "*GroupVersionKind",
        "scope": "string",
        "singularResource": "string",
        "verbs": "[]string",
        "shortNames": "[]string",
        "categories": "[]string",
        "subresources": "[]APISubresourceDiscovery",
    },
    "APISubresourceDiscovery": {
        "subresource": "string",
        "responseKind": "*GroupVersionKind",
        "acceptedTypes": "[]GroupVersionKind",
        "verbs": "[]string",
    },
}
"""Structs of our own writing: member → Go type. All members have omitempty."""


@cache
def find_kind(gvk: GroupVersionKind) -> tuple[str, Schema]:
    """(message, schema) of a kind. Raises KeyError where it has no protobuf form."""
    if (
        gvk.group == "meta.k8s.io"
        and gvk.version in ("v1", "v1beta1")
        and gvk.kind.startswith("PartialObjectMetadata")
    ):
        return _META + gvk.kind, builtin.schema_for(GroupVersionKind("meta.k8s.io", "v1", gvk.kind))
    if gvk == GroupVersionKind("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"):
        return _DISCOVERY + gvk.kind, _struct(gvk.kind)
    schema = builtin.schema_for(gvk)
    message = message_name(schema.definition)
    if message not in fields():
        raise KeyError(gvk)
    return message, schema


@cache
def _struct(name: str) -> Schema:
    return Schema(
        type="object",
        builtin=True,
        go_struct=name,
        properties={member: _node(go_type) for member, go_type in _STRUCTS[name].items()},
    )


def _node(go_type: str) -> Schema:
    if go_type.startswith("[]"):
        return Schema(type="array", go_omit="e", items=_node(go_type[2:]))
    name = go_type.lstrip("*")
    if name == "string":
        return Schema(type="string", go_omit="e")
    node = (
        _struct(name)
        if name in _STRUCTS
        else builtin.definition(f"io.k8s.apimachinery.pkg.apis.meta.v1.{name}")
    )
    return replace(node, go_omit="e", go_pointer=go_type.startswith("*"), cache={})
