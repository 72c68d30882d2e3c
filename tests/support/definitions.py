"""CustomResourceDefinitions for tests: decoded, defaulted and checked as the registry does it,
without a server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from apiserver.fielderrors import FieldErrors
from apiserver.golang.math import whole_numbers
from apiserver.kinds import catalog
from apiserver.kinds.apiextensions import conditions
from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.kinds.apiextensions.resource import custom_resource
from apiserver.kinds.base import WriteContext
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, copy_json
from apiserver.schema.decode import decode
from apiserver.schema.defaults import apply_defaults
from apiserver.schema.prune import decode_custom

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = WriteContext("v1", NOW)


def crd_resource() -> Any:
    return catalog.resources()[GroupResource("apiextensions.k8s.io", "customresourcedefinitions")]


def definition(
    schema: Object | None = None, *, group: str = "example.com", kind: str = "Foo", **version: Any
) -> Object:
    """A CustomResourceDefinition with one version, as a client sends it."""
    plural = f"{kind.lower()}s"
    spec = {
        "openAPIV3Schema": schema
        if schema is not None
        else {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": spec, **version}
            ],
        },
    }


def prepared(sent: Mapping[str, Any]) -> Object:
    """What is stored of a definition, before its names are accepted."""
    resource = crd_resource()
    obj: Object = decode(resource.versions["v1"].schema, copy_json(dict(sent))).value
    obj["kind"], obj["apiVersion"] = "CustomResourceDefinition", "apiextensions.k8s.io/v1"
    resource.hooks.default(obj, "v1")
    resource.hooks.prepare_create(obj, CONTEXT)
    return obj


def create_errors(sent: Mapping[str, Any]) -> FieldErrors:
    errors: FieldErrors = crd_resource().hooks.validate_create(prepared(sent), CONTEXT)
    return errors


def established(sent: Mapping[str, Any]) -> Object:
    crd = prepared(sent)
    conditions.settle(crd, [], NOW)
    return crd


def resource_of(sent: Mapping[str, Any]) -> CustomResource:
    """The resource that a definition makes. The definition must be valid."""
    assert [str(e) for e in create_errors(sent)] == []
    return custom_resource(established(sent))


def instance_errors(
    resource: CustomResource, sent: Object, version: str = "v1", *, with_status: bool = False
) -> FieldErrors:
    """What creating an object would be refused for, metadata aside. ``with_status``: as if creating
    did not drop it."""
    obj = whole_numbers(copy_json(sent))
    schema = resource.versions[version].schema
    decode_custom(schema, obj)
    apply_defaults(schema, obj)
    obj.setdefault("metadata", {})
    context = WriteContext(version, NOW)
    if not with_status:
        resource.hooks.prepare_create(obj, context)
    return resource.hooks.validate_create(obj, context)
