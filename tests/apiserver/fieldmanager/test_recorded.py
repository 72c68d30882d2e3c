"""Ownership and conflicts as a real kube-apiserver recorded them."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest

from apiserver.fieldmanager.fieldpath import exclude, path_of, set_of
from apiserver.fieldmanager.manager import FieldManager
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import schema_for

from .recorded import SHARED, Step, Store, steps
from .schemas import schema_from

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.exists(), reason="the recordings (../shared/conformance) are not here"),
]

SCENARIOS = sorted(f"apply/{p.stem}" for p in (SHARED / "apply").glob("ssa-*.yaml")) if SHARED.exists() else []

BUILT_IN = {
    ("v1", "configmaps"): "ConfigMap",
    ("v1", "services"): "Service",
    ("v1", "pods"): "Pod",
    ("v1", "secrets"): "Secret",
    ("apps/v1", "deployments"): "Deployment",
    ("networking.k8s.io/v1", "ingresses"): "Ingress",
    ("autoscaling/v1", "scale"): "Scale",
}


def _filters(api_version: str, status: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    return {"": {api_version: exclude(set_of(path_of("status")))}, "status": {api_version: exclude(set_of(*status))}}


class Managers:
    """FieldManagers by version and resource; definitions of custom resources add theirs as the scenario makes them."""

    def __init__(self) -> None:
        self.custom: dict[str, Any] = {}

    def get(self, api_version: str, resource: str) -> FieldManager | None:
        kind = BUILT_IN.get((api_version, resource))
        if kind is not None:
            group, _, version = api_version.rpartition("/")
            schema = schema_for(GroupVersionKind(group, version, kind))
            filters = _filters(
                api_version, (path_of("spec"), path_of("metadata", "deletionTimestamp"), path_of("metadata", "ownerReferences"))
            )
            return FieldManager(kind, lambda v: schema if v == api_version else None, lambda o, v: {**o, "apiVersion": v}, filters)
        definition = self.custom.get(resource)
        if definition is None:
            return None
        spec = definition["spec"]
        versions = {f"{spec['group']}/{v['name']}": v for v in spec["versions"]}
        made = {name: schema_from(v["schema"]["openAPIV3Schema"]) for name, v in versions.items()}
        with_status = {name for name, v in versions.items() if "status" in v.get("subresources", {})}
        filters = {
            "": {name: exclude(set_of(path_of("status"))) for name in with_status},
            "status": {name: exclude(set_of(path_of("metadata"), path_of("spec"))) for name in with_status},
        }
        return FieldManager(spec["names"]["kind"], made.get, lambda o, v: {**o, "apiVersion": v}, filters)

    def define(self, step: Step) -> None:
        if step.method == "POST":
            self.custom[step.body["spec"]["names"]["plural"]] = step.body
        elif step.method == "PATCH" and isinstance(step.body, list):
            plural = step.path.rsplit("/", 1)[1].split(".")[0]
            self.custom[plural] = jsonpatch.apply_patch(self.custom[plural], step.body)


@pytest.mark.parametrize("name", SCENARIOS)
def test_ownership_is_as_recorded(name: str) -> None:
    managers = Managers()
    store = Store(managers.get)
    for step in steps(name):
        if "/customresourcedefinitions" in step.path:
            managers.define(step)
        else:
            store.run(step)
    assert store.compared
    assert not store.differences, "\n" + "\n".join(map(str, store.differences))
