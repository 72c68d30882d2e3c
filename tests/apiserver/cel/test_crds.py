"""Rules of definitions in use: all compile within budget, the projects' own examples pass, and
objects that break a rule do not."""

from __future__ import annotations

import copy
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.cel.kubernetes.rulecheck import check_rules
from apiserver.cel.kubernetes.rulenodes import compile_rules
from apiserver.cel.kubernetes.rules import validate
from apiserver.schema.types import Schema
from tests.apiserver.cel.schemas import schema_from, with_defaults

CRDS = Path(__file__).resolve().parents[4] / "shared" / "crds"
pytestmark = pytest.mark.skipif(not CRDS.is_dir(), reason="../shared/crds is absent")
FILES = sorted((CRDS / "gateway-api").glob("*.yaml")) + sorted(
    (CRDS / "cert-manager").glob("*.yaml")
)


@lru_cache(maxsize=1)
def schemas() -> dict[tuple[str, str, str], Schema]:
    found = {}
    for path in FILES:
        for crd in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            if crd and crd.get("kind") == "CustomResourceDefinition":
                for version in crd["spec"]["versions"]:
                    key = (crd["spec"]["group"], version["name"], crd["spec"]["names"]["kind"])
                    found[key] = schema_from(version["schema"]["openAPIV3Schema"])
    return found


def test_every_rule_compiles_within_budget() -> None:
    assert len(schemas()) > 20
    for key, schema in schemas().items():
        assert [str(e) for e in check_rules(schema, "schema")] == [], key


def examples() -> list[Any]:
    found = []
    for path in sorted((CRDS / "gateway-api" / "examples").rglob("*.yaml")):
        found += [obj for obj in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader) if obj]
    return found


def schema_of(obj: Any) -> Schema | None:
    group, _, version = obj["apiVersion"].rpartition("/")
    return schemas().get((group, version, obj["kind"]))


def test_examples_pass() -> None:
    judged = 0
    for obj in examples():
        schema = schema_of(obj)
        if schema is not None:
            judged += 1
            assert [
                str(e) for e in validate(compile_rules(schema), with_defaults(obj, schema)).errors
            ] == [], obj["metadata"]["name"]
    assert judged > 20


def test_a_broken_example_is_refused_at_its_path() -> None:
    schema = schemas()["gateway.networking.k8s.io", "v1", "Gateway"]
    listeners = [
        {"name": "a", "port": 80, "protocol": "HTTP"},
        {"name": "a", "port": 81, "protocol": "HTTP"},
    ]
    obj = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "g"},
    }
    obj["spec"] = {"gatewayClassName": "c", "listeners": listeners}
    expected = ["spec.listeners: Invalid value: Listener name must be unique within the Gateway"]
    assert [str(e) for e in validate(compile_rules(schema), obj).errors] == expected
    fixed = copy.deepcopy(obj)
    fixed["spec"]["listeners"][1]["name"] = "b"
    assert validate(compile_rules(schema), fixed).errors == []
