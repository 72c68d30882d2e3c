"""Large real objects: published CustomResourceDefinitions, applied by one manager and again by
another."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.errors import ApplyConflict
from apiserver.fieldmanager import reset
from apiserver.fieldmanager.fieldpath import decode as decode_fields
from apiserver.fieldmanager.fieldpath import members, path_of
from apiserver.fieldmanager.manager import FieldManager
from apiserver.meta.gvk import GroupResource, GroupVersionKind
from apiserver.schema.builtin import schema_for
from apiserver.schema.decode import decode
from apiserver.schema.structural import structural

CRDS = Path(__file__).resolve().parents[4] / "shared" / "crds"
V1 = "apiextensions.k8s.io/v1"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KIND = "CustomResourceDefinition"
FILES = [p for p in sorted(CRDS.glob("*/*.yaml")) if f"\nkind: {KIND}\n" in p.read_text()]
"""Without those that only hold policies."""

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FILES, reason="the definitions (../shared/crds) are not here"),
]


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML in which "=" is a string."""


Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: node.value)


def documents(path: Path) -> list[dict[str, Any]]:
    return [
        d for d in yaml.load_all(path.read_text(), Loader) if isinstance(d, dict) and "kind" in d
    ]


def definitions(path: Path) -> list[dict[str, Any]]:
    return [d for d in documents(path) if d["kind"] == KIND and d["apiVersion"] == V1]


def custom_managers() -> dict[tuple[str, str], FieldManager]:
    """(apiVersion, kind) → FieldManager of every custom kind that the files define."""
    managers = {}
    for definition in (d for path in FILES for d in definitions(path)):
        spec = definition["spec"]
        schemas = {
            f"{spec['group']}/{v['name']}": structural(v["schema"]["openAPIV3Schema"])
            for v in spec["versions"]
        }
        for api_version in schemas:
            managers[api_version, spec["names"]["kind"]] = FieldManager(
                spec["names"]["kind"],
                schemas.get,
                lambda o, v: {**o, "apiVersion": v},
                reset.custom(schemas),
            )
    return managers


def test_custom_objects_are_shared_by_two_appliers() -> None:
    managers = custom_managers()
    met = set()
    for path in sorted(CRDS.glob("*/examples/**/*.yaml")):
        for intent in documents(path):
            manager = managers.get((intent["apiVersion"], intent["kind"]))
            if manager is None:
                continue
            met.add(intent["kind"])
            options: dict[str, Any] = {
                "force": False,
                "api_version": intent["apiVersion"],
                "now": NOW,
            }
            created = manager.apply(None, intent, "one", **options)
            created["metadata"]["uid"] = "u"
            assert manager.apply(created, intent, "one", **options) == created
            shared = manager.apply(created, intent, "two", **options)
            assert len({str(e["fieldsV1"]) for e in shared["metadata"]["managedFields"]}) == 1
            assert {k: v for k, v in shared.items() if k != "metadata"} == {
                k: v for k, v in intent.items() if k != "metadata"
            }
    assert len(met) > 5


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_definitions_are_shared_by_two_appliers(path: Path) -> None:
    schema = schema_for(GroupVersionKind("apiextensions.k8s.io", "v1", KIND))
    filters = reset.built_in(
        GroupResource("apiextensions.k8s.io", "customresourcedefinitions"), [V1], ["status"]
    )
    manager = FieldManager(
        KIND,
        lambda v: schema if v == V1 else None,
        lambda o, _: o,
        filters,
        lambda o, _: decode(schema, o).value,
    )

    def apply(live: dict[str, Any] | None, intent: dict[str, Any], name: str) -> dict[str, Any]:
        return manager.apply(live, intent, name, force=False, api_version=V1, now=NOW)

    intents = list(definitions(path))
    assert intents
    for intent in intents:
        created = apply(None, intent, "one")
        created["metadata"]["uid"] = "u"
        assert apply(created, intent, "one") == created
        shared = apply(created, intent, "two")
        owned = {e["manager"]: e["fieldsV1"] for e in shared["metadata"]["managedFields"]}
        assert owned["one"] == owned["two"]
        assert path_of("spec", "versions") in set(members(decode_fields(owned["one"])))
        changed = copy.deepcopy(intent)
        changed["spec"]["names"]["kind"] = "Other"
        with pytest.raises(ApplyConflict, match=r"spec\.names\.kind"):
            apply(shared, changed, "one")
