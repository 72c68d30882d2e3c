"""A definition in two versions, v1 (host, port) and v2 (address), for tests of conversion; see
tests.support.webhooks.convert_one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from apiserver.kinds.apiextensions import conditions
from apiserver.meta.objects import Object
from tests.support.api import Api

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = f"{CRDS}/widgets.example.com"
V1 = "/apis/example.com/v1/namespaces/ns/widgets"
V2 = "/apis/example.com/v2/namespaces/ns/widgets"
_REPLICAS: Object = {"type": "integer"}
_SPECS: dict[str, Object] = {
    "v1": {"host": {"type": "string"}, "port": {"type": "integer"}, "replicas": _REPLICAS},
    "v2": {"address": {"type": "string"}, "replicas": _REPLICAS},
}


def version(name: str, *, storage: bool, **more: Any) -> Object:
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": _SPECS[name]}, "status": status},
    }
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    made = {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}
    return {**made, "subresources": {"status": {}, "scale": scale}, **more}


def crd(config: Object | None, storage: str = "v1", **v2: Any) -> Object:
    """``config``: clientConfig of its webhook, None for strategy None; ``v2``: members of that
    version."""
    conversion: Object = {"strategy": "None"}
    if config is not None:
        conversion = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]},
        }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                version("v1", storage=storage == "v1"),
                version("v2", storage=storage == "v2", **v2),
            ],
            "conversion": conversion,
        },
    }


def widget(name: str, api: str = "v1", labels: dict[str, str] | None = None, **spec: Any) -> Object:
    metadata: Object = {"name": name, "namespace": "ns", **({"labels": labels} if labels else {})}
    return {
        "apiVersion": f"example.com/{api}",
        "kind": "Widget",
        "metadata": metadata,
        "spec": spec,
    }


async def define(api: Api, config: Object | None, storage: str = "v1", **v2: Any) -> None:
    """Creates the definition and waits until it is served."""
    made = await api.ok("POST", CRDS, crd(config, storage, **v2))
    conditions.settle(made, [], datetime.now(UTC))
    await api.ok("PUT", f"{CRD}/status", made)
    await api.until(lambda: _current(api, storage))


async def redefine(api: Api, config: Object | None, storage: str = "v1") -> None:
    """Changes webhook and storage version."""
    wanted = crd(config, storage)
    found = await api.ok("GET", CRD)
    found["spec"]["conversion"], found["spec"]["versions"] = (
        wanted["spec"]["conversion"],
        wanted["spec"]["versions"],
    )
    changed = await api.ok("PUT", CRD, found)
    await api.until(lambda: seen(api, int(changed["metadata"]["resourceVersion"])))


def _current(api: Api, storage: str) -> bool:
    found = _resource(api)
    return found is not None and found.storage_version == storage


def seen(api: Api, resource_version: int) -> bool:
    definition = api.catalog.definitions(api.tenant).get("widgets.example.com")
    return definition is not None and definition.entry.resource_version >= resource_version


def _resource(api: Api) -> Any:
    return api.catalog.find(api.tenant, "example.com", "widgets")
