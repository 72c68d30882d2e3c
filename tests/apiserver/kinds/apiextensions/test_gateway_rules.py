"""Every rule of gateway-api's definitions, at every place where it stands, broken once: refused
there, with its message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.kinds.base import WriteContext
from apiserver.meta.objects import Object
from apiserver.schema.types import Rule, Schema
from tests.apiserver.kinds.apiextensions.gateway_rules import BREAKING, TRANSITIONS, UNREACHABLE
from tests.apiserver.kinds.apiextensions.test_definitions_in_use import gateway_resources
from tests.support.definitions import NOW, instance_errors
from tests.support.schema_values import Step, fill, nodes, path_of, wrap

pytestmark = pytest.mark.shared
Place = tuple[CustomResource, str, tuple[Step, ...], Schema, Rule]


def places(shared: Path) -> list[Place]:
    return [
        (resource, version, steps, schema, rule)
        for resource in gateway_resources(shared).values()
        for version, served in resource.versions.items()
        for steps, schema in nodes(served.schema)
        for rule in schema.rules
    ]


def whole(place: Place, value: Any) -> Object:
    resource, version, steps, schema, _ = place
    obj: Object = wrap(resource.versions[version].schema, steps, fill(schema, value))
    return {
        **obj,
        "apiVersion": f"{resource.group}/{version}",
        "kind": resource.kind,
        "metadata": {"name": "a"},
    }


def wanted(steps: tuple[Step, ...], rule: Rule, value: Any) -> str:
    shown = f'"{value}": ' if type(value) is str else ""
    return f"{path_of(steps, rules=True)}: Invalid value: {shown}{rule.message}"


def test_every_rule_has_a_value_that_breaks_it(shared: Path) -> None:
    messages = {rule.message for *_, rule in places(shared)}
    assert messages - {*BREAKING, *TRANSITIONS, *UNREACHABLE} == set()
    assert len(messages) > 90


def test_each_is_refused_where_it_stands(shared: Path) -> None:
    checked = 0
    for place in places(shared):
        resource, version, steps, _, rule = place
        if rule.message not in BREAKING:
            continue
        value = BREAKING[rule.message]
        found = [
            str(e)
            for e in instance_errors(resource, whole(place, value), version, with_status=True)
        ]
        assert wanted(steps, rule, value) in found, (resource.kind, version, steps)
        checked += 1
    assert checked > 300


def test_what_may_not_change_is_refused_when_it_does(shared: Path) -> None:
    checked = 0
    for place in places(shared):
        resource, version, steps, _, rule = place
        if rule.message not in TRANSITIONS:
            continue
        before, value = TRANSITIONS[rule.message]
        old, new = whole(place, before), whole(place, value)
        context = WriteContext(version, NOW)
        assert wanted(steps, rule, value) in [
            str(e) for e in resource.hooks.validate_update(new, old, context)
        ]
        assert resource.hooks.validate_update(old, old, context) == []
        checked += 1
    assert checked > 1
