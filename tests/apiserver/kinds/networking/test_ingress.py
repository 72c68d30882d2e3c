from __future__ import annotations

import copy
from typing import Any

from apiserver.kinds.catalog import resources
from apiserver.registry.objectmeta import validate_update
from tests.support.kindtools import create, update

CLASS = "kubernetes.io/ingress.class"


def ingress(**spec: Any) -> dict[str, Any]:
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "i", "annotations": {CLASS: "c"}},
        "spec": {"defaultBackend": backend, **spec},
    }


def test_new_ingresses_without_a_class_are_warned_of_the_annotation() -> None:
    assert create(ingress()).warnings == [
        f"annotation \"{CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
    ]
    made = create(ingress(ingressClassName="c"))
    assert (made.messages, made.warnings) == ([], [])
    old = copy.deepcopy(made.obj)
    del old["metadata"]["annotations"]
    assert update(made.obj, old).warnings == []


def test_where_an_address_of_a_balancer_is_odd() -> None:
    old = create(ingress()).obj
    new = copy.deepcopy(old)
    new["status"] = {"loadBalancer": {"ingress": [{"ip": "2001:DB8::1"}]}}
    old["status"] = copy.deepcopy(new["status"])
    (warning,) = update(new, old, "status").warnings
    assert warning.startswith("status.loadBalancer.ingress[0]: ")


def test_updates_of_addresses_ask_of_metadata_what_creates_ask() -> None:
    """A label is told of by the common checks, twice, and twice by the kind's own."""
    metadata = {"name": "10.0.0.1", "resourceVersion": "1", "uid": "u", "labels": {"a": "-"}}
    hooks = next(r.hooks for r in resources().values() if r.kind == "IPAddress")
    new, old = {"metadata": metadata}, {"metadata": {**metadata, "labels": {}}}
    found = validate_update(new, old, hooks, namespaced=False, whole=True)
    assert [e.path for e in found] == ["metadata.labels"] * 4
