"""Ownership and conflicts as a real kube-apiserver recorded them."""

from __future__ import annotations

import json
from typing import Any

import jsonpatch
import pytest

from apiserver.fieldmanager import reset
from apiserver.fieldmanager.manager import FieldManager
from apiserver.meta.gvk import GroupResource, GroupVersionKind
from apiserver.schema.builtin import schema_for
from apiserver.schema.structural import structural as schema_from

from .recorded import SHARED, Step, Store, steps

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not SHARED.exists(), reason="the recordings (../shared/conformance) are not here"
    ),
]

SCENARIOS = sorted(str(p.relative_to(SHARED).with_suffix("")) for p in SHARED.glob("*/*.yaml"))
ABOUT_OWNERSHIP = [name for name in SCENARIOS if name.startswith("apply/ssa-")]
BEYOND_THE_STORE = {
    "objects/scale-custom": "scales along another path than .spec.replicas",
    "objects/services": "changes an object in answers that the recording leaves out",
    "surface/impersonation": "writes a subresource that is no part of its parent",
    "surface/partial-metadata": "answers with metadata alone",
}
OTHERS = [
    name for name in SCENARIOS if name not in ABOUT_OWNERSHIP and name not in BEYOND_THE_STORE
]


def _served() -> dict[tuple[str, str], tuple[str, list[str]]]:
    """(apiVersion, resource) → (kind, subresources) of every built-in resource."""
    served = {("autoscaling/v1", "scale"): ("Scale", [""])}
    for r in json.loads((SHARED.parent.parent / "facts" / "resources.json").read_text()):
        api_version = f"{r['group']}/{r['version']}" if r["group"] else r["version"]
        served[api_version, r["resource"]] = (
            r["kind"],
            [s["subresource"] for s in r.get("subresources", ())],
        )
    return served


class Managers:
    """FieldManagers by version and resource; definitions of custom resources add theirs as the
    scenario makes them."""

    def __init__(self) -> None:
        self.custom: dict[str, Any] = {}
        self.served = _served()

    def get(self, api_version: str, resource: str) -> FieldManager | None:
        kind, subresources = self.served.get((api_version, resource), ("", []))
        if kind:
            group, _, version = api_version.rpartition("/")
            schema = schema_for(GroupVersionKind(group, version, kind))
            filters = reset.built_in(GroupResource(group, resource), [api_version], subresources)
            return FieldManager(
                kind,
                lambda v: schema if v == api_version else None,
                lambda o, v: {**o, "apiVersion": v},
                filters,
            )
        definition = self.custom.get(resource)
        if definition is None:
            return None
        spec = definition["spec"]
        versions = {f"{spec['group']}/{v['name']}": v for v in spec["versions"]}
        made = {name: schema_from(v["schema"]["openAPIV3Schema"]) for name, v in versions.items()}
        filters = reset.custom(
            name for name, v in versions.items() if "status" in v.get("subresources", {})
        )
        return FieldManager(
            spec["names"]["kind"], made.get, lambda o, v: {**o, "apiVersion": v}, filters
        )

    def define(self, step: Step) -> None:
        if step.method == "POST":
            self.custom[step.body["spec"]["names"]["plural"]] = step.body
        elif step.method == "PATCH" and isinstance(step.body, list):
            plural = step.path.rsplit("/", 1)[1].split(".")[0]
            self.custom[plural] = jsonpatch.apply_patch(self.custom[plural], step.body)


def run(name: str, *, exact: bool) -> Store:
    managers = Managers()
    store = Store(managers.get, exact=exact)
    for step in steps(name):
        if "/customresourcedefinitions" in step.path and step.status < 300:
            managers.define(step)
        else:
            store.run(step)
    return store


@pytest.mark.parametrize("name", ABOUT_OWNERSHIP)
def test_ownership_is_as_recorded(name: str) -> None:
    store = run(name, exact=True)
    assert store.compared
    assert not store.differences, "\n" + "\n".join(map(str, store.differences))


@pytest.mark.parametrize("name", OTHERS)
def test_every_recorded_manager_owns_at_least_what_was_recorded(name: str) -> None:
    store = run(name, exact=False)
    assert not store.differences, "\n" + "\n".join(map(str, store.differences))
