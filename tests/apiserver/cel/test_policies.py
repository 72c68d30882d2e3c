"""Expressions of admission policies: result types, lazy variables, authorizer, patches, budget."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.cel.kubernetes.patchtypes import (
    JSON_PATCH_TYPE,
    OBJECT_TYPE,
    patch_operation,
    to_json,
    type_name_errors,
)
from apiserver.cel.kubernetes.policies import (
    Evaluation,
    OutOfBudget,
    Variables,
    compile_policy,
    policy_env,
)
from apiserver.cel.library.authorizer import Authorizer, Decision, Question, request_resource
from apiserver.cel.types import BOOL, NULL, STRING, list_type

ENV = policy_env(params=True)
PATCH = policy_env(patch=True)


def evaluate(source: str, variables: Variables | None = None, **bindings: Any) -> Any:
    env = variables.env(ENV) if variables is not None else ENV
    expression = compile_policy(env, source, (BOOL, STRING, NULL))
    assert expression.error == ""
    return Evaluation(bindings, variables).evaluate(expression)


def test_result_types() -> None:
    assert compile_policy(ENV, "1", (BOOL,)).error == "must evaluate to bool but got int"
    assert (
        compile_policy(ENV, "[1]", (STRING, NULL)).error
        == "must evaluate to one of [string null_type] but got list(int)"
    )
    assert compile_policy(ENV, "objects.x", (BOOL,)).error.startswith(
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'objects'"
    )


def test_untyped_objects() -> None:
    assert (
        evaluate(
            "object.spec.n > 1 && oldObject == null && has(object.spec)",
            object={"spec": {"n": 2}},
            oldObject=None,
        ).value
        is True
    )
    assert (
        evaluate("object.a.b == 1", object={}).error
        == "expression 'object.a.b == 1' resulted in error: no such key: a"
    )


def test_request_is_typed() -> None:
    assert "undefined field 'users'" in compile_policy(ENV, "request.users == 1", (BOOL,)).error
    assert (
        evaluate(
            "request.userInfo.groups.exists(g, g == 'a')", request={"userInfo": {"groups": ["a"]}}
        ).value
        is True
    )


def test_variables_are_evaluated_once_and_only_when_read() -> None:
    variables = Variables()
    variables.add(ENV, "n", "object.n + 1")
    variables.add(ENV, "twice", "variables.n * 2")
    variables.add(ENV, "broken", "object.absent")
    assert (
        evaluate("variables.twice == 4 && variables.n == 2", variables, object={"n": 1}).value
        is True
    )
    failed = evaluate("variables.broken == 1", variables, object={"n": 1}).error
    assert failed.endswith('composited variable "broken" fails to evaluate: no such key: absent')


def test_a_variable_does_not_see_later_ones() -> None:
    variables = Variables()
    assert "undefined field 'b'" in variables.add(ENV, "a", "variables.b").error
    variables.add(ENV, "b", "1")
    failed = evaluate("variables.a == 1", variables).error
    assert 'composited variable "a" fails to compile: compilation failed' in failed


def test_authorizer_asks_the_caller() -> None:
    asked: list[Question] = []

    def authorize(question: Question) -> Decision:
        asked.append(question)
        return Decision(question.resource == "pods", reason="because")

    authorizer = Authorizer(authorize)
    bindings = {
        "authorizer": authorizer,
        "authorizer.requestResource": request_resource(authorizer, "", "pods", "", "ns", "p"),
    }
    pods = "authorizer.serviceAccount('ns', 'sa').group('apps').resource('pods').subresource('log')"
    check = pods + ".namespace('n').labelSelector('a=b').check('get')"
    assert evaluate(f"{check}.allowed()", **bindings).value is True
    assert asked == [Question("get", ("ns", "sa"), "", "apps", "pods", "log", "n", "", "", "a=b")]
    assert (
        evaluate(
            "authorizer.requestResource.check('update').reason() == 'because'", **bindings
        ).value
        is True
    )
    assert asked[1] == Question("update", None, "", "", "pods", "", "ns", "p")
    assert evaluate("authorizer.path('/x').check('get').allowed()", **bindings).value is False
    assert evaluate("authorizer.path(' ').check('get').allowed()", **bindings).error.endswith(
        "path must not be empty"
    )


def test_budget_is_shared() -> None:
    expression = compile_policy(ENV, "authorizer.path('/x').check('get').allowed()", (BOOL,))
    run = Evaluation({"authorizer": Authorizer(lambda _q: Decision(True))}, budget=500_000)
    assert run.evaluate(expression).value is True
    with pytest.raises(OutOfBudget, match="validation failed due to running out of cost budget"):
        run.evaluate(expression)


def test_objects() -> None:
    expression = compile_policy(
        PATCH,
        "Object{metadata: Object.metadata{labels: {'a': 'b'}}, spec: Object.spec{n: 1}}",
        (OBJECT_TYPE,),
    )
    value = Evaluation({}).evaluate(expression).value
    assert to_json(value) == {"metadata": {"labels": {"a": "b"}}, "spec": {"n": 1}}
    assert type_name_errors(value) == []


def test_type_names_follow_paths() -> None:
    value = (
        Evaluation({})
        .evaluate(compile_policy(PATCH, "Object{spec: Object.other{n: 1}}", (OBJECT_TYPE,)))
        .value
    )
    expected = (
        'unexpected type name "Object.other", expected "Object.spec", which matches '
        "field name path from root Object type"
    )
    assert type_name_errors(value) == [expected]


def test_json_patches() -> None:
    source = (
        "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('x/~'), value: "
        "Object.a{n: 1}}, JSONPatch{op: 'remove', path: '/b'}]"
    )
    value = (
        Evaluation({}).evaluate(compile_policy(PATCH, source, (list_type(JSON_PATCH_TYPE),))).value
    )
    assert [patch_operation(v) for v in value] == [
        {"op": "add", "path": "/a/x~1~0", "value": {"n": 1}},
        {"op": "remove", "path": "/b"},
    ]
    wrong = compile_policy(
        PATCH, "[JSONPatch{operation: 'add'}]", (list_type(JSON_PATCH_TYPE),)
    ).error
    assert "expected type of field 'operation' is '' but provided type is 'string'" in wrong


OPERATION = "JSONPatch{op: 'add', path: '/a', from: '/b', value: 1}"


@pytest.mark.parametrize(
    "expression",
    [
        f"{OPERATION}.op == 'add' && {OPERATION}.path == '/a' && {OPERATION}.from == '/b'",
        f"{OPERATION}.value == 1 && dyn({OPERATION}).value == 1",
        "JSONPatch{}.op == '' && JSONPatch{}.path == '' && JSONPatch{}.from == ''",
        f"has({OPERATION}.op) && has({OPERATION}.path) && has({OPERATION}.from)",
        f"has({OPERATION}.value) && has(dyn({OPERATION}).value)",
        "!has(JSONPatch{}.op) && !has(JSONPatch{op: ''}.op) && !has(JSONPatch{}.value)",
        "JSONPatch{} == JSONPatch{op: '', path: '', from: ''}",
        "JSONPatch{op: 'add', value: 1} != JSONPatch{op: 'add', value: '1'}",
        "JSONPatch{op: 'add'} != JSONPatch{op: 'add', value: 1}",
        f"[{OPERATION}, JSONPatch{{op: 'test'}}].exists(p, p.op == 'test')",
        "Object{spec: Object.spec{n: 1}}.spec.n == 1",
        "Object{spec: Object.spec{n: 1}}.spec == {'n': 1}",
        "Object{l: [Object.l{n: 1}]}.l[0].n == 1",
        "has(Object{n: 1}.n) && !has(Object{}.n) && dyn(Object{n: 1}).n == 1",
    ],
)
def test_fields_of_what_a_mutation_makes(expression: str) -> None:
    result = Evaluation({}).evaluate(compile_policy(PATCH, expression, (BOOL,)))
    assert (result.error, result.value) == ("", True)


def test_a_value_that_an_operation_has_not() -> None:
    result = Evaluation({}).evaluate(compile_policy(PATCH, "JSONPatch{}.value == 1", (BOOL,)))
    assert result.error.endswith("no such key: value")
