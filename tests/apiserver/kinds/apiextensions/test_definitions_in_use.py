"""Definitions that projects ship are accepted, their examples too, and spoilt examples are refused
at the spoilt place."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.codec.yaml import loads
from apiserver.kinds.apiextensions import conditions
from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.meta.gvk import GroupKind
from apiserver.meta.objects import Object, copy_json
from tests.support.definitions import create_errors, established, instance_errors, resource_of
from tests.support.growth import assert_within

pytestmark = pytest.mark.shared


@cache
def definitions(shared: Path) -> dict[GroupKind, Object]:
    found = {}
    for path in sorted(shared.glob("crds/*/*.yaml")):
        text = path.read_bytes()
        if b"\nkind: CustomResourceDefinition" in text:
            crd: Any = loads(text)[0]
            found[GroupKind(crd["spec"]["group"], crd["spec"]["names"]["kind"])] = crd
    return found


@cache
def gateway_resources(shared: Path) -> dict[GroupKind, CustomResource]:
    return {
        key: resource_of(crd) for key, crd in definitions(shared).items() if "gateway" in key.group
    }


def examples(shared: Path) -> list[tuple[CustomResource, str, Object]]:
    found = []
    for path in sorted(shared.glob("crds/gateway-api/examples/*.yaml")):
        for obj in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            group, _, version = (obj or {}).get("apiVersion", "").rpartition("/")
            resource = gateway_resources(shared).get(GroupKind(group, (obj or {}).get("kind", "")))
            if resource is not None:
                found.append((resource, version, obj))
    return found


def test_all_are_accepted_and_established(shared: Path) -> None:
    assert len(definitions(shared)) > 25
    for key, crd in definitions(shared).items():
        assert [str(e) for e in create_errors(crd)] == [], key
        assert conditions.is_true(established(crd), "Established"), key


def test_the_largest_is_checked_in_less_than_two_seconds(shared: Path) -> None:
    largest = max(definitions(shared).values(), key=lambda crd: len(str(crd)))
    assert create_errors(largest) == []
    assert_within(lambda: create_errors(largest), 2)


def test_examples_are_accepted(shared: Path) -> None:
    found = examples(shared)
    assert len(found) > 80
    for resource, version, obj in found:
        assert [str(e) for e in instance_errors(resource, obj, version)] == [], obj["metadata"][
            "name"
        ]


def test_an_example_without_a_required_field_is_refused_there(shared: Path) -> None:
    checked = 0
    for resource, version, obj in examples(shared):
        spec = (resource.versions[version].schema.properties or {})["spec"]
        for name in spec.required:
            spoilt = copy_json(obj)
            if spoilt.get("spec", {}).pop(name, None) is None:
                continue
            assert f"spec.{name}: Required value" in [
                str(e) for e in instance_errors(resource, spoilt, version)
            ]
            checked += 1
    assert checked > 20


def test_a_hostname_that_breaks_the_pattern_is_refused_there(shared: Path) -> None:
    for resource, version, obj in examples(shared):
        if resource.kind == "HTTPRoute" and obj["spec"].get("hostnames"):
            spoilt = copy_json(obj)
            spoilt["spec"]["hostnames"][0] = "no_such host"
            assert [e.path for e in instance_errors(resource, spoilt, version)] == [
                "spec.hostnames[0]"
            ]
            return
    pytest.fail("no example has host names")
