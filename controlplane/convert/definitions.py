"""CustomResourceDefinitions of apiextensions.k8s.io/v1beta1 to v1."""

from __future__ import annotations

import copy

from apiserver.meta.objects import Object
from controlplane.convert.rule import Conversion, as_list, as_object, rename


def custom_resource_definition(conversion: Conversion) -> None:
    spec = conversion.spec
    conversion.keep_default(spec, "scope", "Namespaced", "spec")
    _versions(spec)
    preserve = spec.pop("preserveUnknownFields", True)
    if preserve is not False:
        conversion.note(
            "spec.preserveUnknownFields: true was the default; "
            "x-kubernetes-preserve-unknown-fields stands in the schemas now"
        )
    for version in as_list(spec.get("versions")):
        _schema(conversion, version, preserve=preserve is not False)
        for column in as_list(version.get("additionalPrinterColumns")):
            rename(column, "JSONPath", "jsonPath")
    _conversion(spec)
    conversion.obj.pop("status", None)


def _versions(spec: Object) -> None:
    """What stood once for all versions stands in each of them now."""
    name = spec.pop("version", None)
    if not as_list(spec.get("versions")) and name is not None:
        spec["versions"] = [{"name": name, "served": True, "storage": True}]
    shared = {
        "schema": spec.pop("validation", None),
        "subresources": spec.pop("subresources", None),
        "additionalPrinterColumns": spec.pop("additionalPrinterColumns", None),
    }
    for version in as_list(spec.get("versions")):
        for member, value in shared.items():
            if value is not None and member not in version:
                version[member] = copy.deepcopy(value)


def _schema(conversion: Conversion, version: Object, *, preserve: bool) -> None:
    schema = as_object(version, "schema") or {}
    if as_object(schema, "openAPIV3Schema") is None:
        schema["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        conversion.note(
            f"versions[{version.get('name')}].schema: required now; one that admits everything was "
            f"written"
        )
    root = schema["openAPIV3Schema"]
    if "type" not in root:
        root["type"] = "object"
        conversion.note(
            f"versions[{version.get('name')}].schema: schemas must be structural now; the root's "
            f"type was written"
        )
    if preserve:
        root["x-kubernetes-preserve-unknown-fields"] = True
    version["schema"] = schema


def _conversion(spec: Object) -> None:
    conversion = as_object(spec, "conversion")
    if conversion is None:
        return
    webhook: Object = {}
    if "webhookClientConfig" in conversion:
        webhook["clientConfig"] = conversion.pop("webhookClientConfig")
    versions = conversion.pop("conversionReviewVersions", None)
    if conversion.get("strategy") == "Webhook":
        webhook["conversionReviewVersions"] = versions or ["v1beta1"]
    if webhook:
        conversion["webhook"] = webhook
