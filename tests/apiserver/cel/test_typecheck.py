"""Expressions of policies against the schemas of the kinds that they are about."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.cel.kubernetes.typecheck import Subject, Typed, check
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema import builtin
from apiserver.schema.structural import structural
from apiserver.schema.types import Schema

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
POD = GroupVersionKind("", "v1", "Pod")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def warnings(expression: str, *kinds: GroupVersionKind, **more: Any) -> list[str]:
    subject = more.pop("subject", None) or Subject(
        [Typed(kind, builtin.schema_for(kind)) for kind in kinds or (DEPLOYMENT,)]
    )
    spec = {"validations": [{"expression": expression}], **more}
    return [w["warning"] for w in check(spec, subject)]


def test_the_example_of_the_documentation() -> None:
    spec = {"validations": [{"expression": "object.replicas > 1"}]}
    subject = Subject([Typed(DEPLOYMENT, builtin.schema_for(DEPLOYMENT))])
    assert check(spec, subject) == [
        {
            "fieldRef": "spec.validations[0].expression",
            "warning": "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n"
            " | object.replicas > 1\n | ......^\n",
        }
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.replicas > 1",
        "object.metadata.labels['a'] == 'b' && oldObject.metadata.generation == 2",
        "object.spec.template.spec.containers.all(c, c.image.startsWith('x'))",
        "object.metadata.creationTimestamp < timestamp('2020-01-01T00:00:00Z')",
        "object.spec.strategy.rollingUpdate.maxSurge == 1",
        "request.operation == 'CREATE' && namespaceObject.metadata.name == 'n'",
        "authorizer.group('apps').resource('deployments').check('get').allowed()",
    ],
)
def test_what_fits_its_types(expression: str) -> None:
    assert warnings(expression) == []


def test_each_kind_is_checked() -> None:
    (text,) = warnings("object.spec.replicas > 1 && object.spec.nodeName == ''", DEPLOYMENT, POD)
    deployment, pod = text.split("\n\n")
    assert deployment.startswith("apps/v1, Kind=Deployment: ERROR: <input>:1:40: undefined field")
    assert pod.startswith("/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'")


def test_messages_and_variables() -> None:
    variables = [{"name": "n", "expression": "object.spec.replicas"}]
    spec = {
        "variables": variables,
        "validations": [{"expression": "variables.n == 'x'", "messageExpression": "object.none"}],
    }
    found = check(spec, Subject([Typed(DEPLOYMENT, builtin.schema_for(DEPLOYMENT))]))
    assert [w["fieldRef"] for w in found] == [
        "spec.validations[0].expression",
        "spec.validations[0].messageExpression",
    ]


@pytest.mark.parametrize(
    ("params", "expected"),
    [(Schema(type="object", properties={"max": Schema(type="integer")}), 1), (None, 0)],
)
def test_parameters_are_typed_where_their_kind_is_known(
    params: Schema | None, expected: int
) -> None:
    types = [Typed(DEPLOYMENT, builtin.schema_for(DEPLOYMENT))]
    subject = Subject(types, True, params)
    assert len(warnings("params.max == 'x'", subject=subject)) == expected


def test_members_of_members_of_parameters() -> None:
    settings = Schema(type="object", properties={"max": Schema(type="integer")})
    params = Schema(type="object", properties={"settings": settings})
    types = [Typed(DEPLOYMENT, builtin.schema_for(DEPLOYMENT))]
    subject = Subject(types, True, params)
    assert warnings("object.spec.replicas < params.settings.max", subject=subject) == []
    (text,) = warnings("params.settings.none == 1", subject=subject)
    assert "undefined field 'none'" in text


def test_custom_objects_have_the_metadata_of_all() -> None:
    """As OpenAPI documents say, though rules of the definition see two names only."""
    template = {"type": "object", "x-kubernetes-embedded-resource": True}
    own = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}
    spec = {"type": "object", "properties": {"list": {"type": "array", "items": template}}}
    widget = structural({"type": "object", "properties": {"metadata": own, "spec": spec}})
    typed = Typed(GroupVersionKind("example.com", "v1", "Widget"), widget)
    subject = Subject([typed], True, widget)
    for whole in ("object", "params", "object.spec.list[0]"):
        fits = f"{whole}.metadata.labels['a'] == {whole}.kind && {whole}.metadata.generation > 1"
        assert warnings(fits, subject=subject) == []
        (text,) = warnings(f"{whole}.metadata.names == 'a'", subject=subject)
        assert "undefined field 'names'" in text
    (text,) = warnings("object.metadata.name == 1", subject=subject)
    assert "'(string, int)'" in text


@pytest.mark.parametrize("kind", ["object", "params", "request", "variables"])
def test_a_kind_that_is_called_like_a_variable(kind: str) -> None:
    members = {
        name: Schema(type="object", properties={"x": Schema(type="integer")})
        for name in ("spec", "settings", "kind", "a")
    }
    typed = Typed(
        GroupVersionKind("example.com", "v1", kind), Schema(type="object", properties=members)
    )
    subject = Subject([typed], True, None)
    variables = [{"name": "a", "expression": "{'x': 1}"}]
    source = "object.spec.x == params.settings.x && request.kind.kind == '' && variables.a.x == 1"
    assert warnings(source, subject=subject, variables=variables) == []


def test_a_definition_that_contains_itself_is_empty_there() -> None:
    schema = "object.spec.versions[0].schema.openAPIV3Schema"
    assert warnings(f"{schema}.type == 'object'", CRD) == []
    (text,) = warnings(f"{schema}.properties['x'].type == 'object'", CRD)
    assert "undefined field 'type'" in text
