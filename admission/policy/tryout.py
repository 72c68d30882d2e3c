"""Expressions of policies tried out: evaluated as a policy's are, over values that are sent along.
Pure, but for what `Decisions` waits for.

Nothing of the tenant is read. What ``authorizer`` answers is up to whoever makes the `Decisions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from admission.attributes import Attributes, Equivalent
from admission.conditions import request_of
from admission.policy.decisions import Decisions
from admission.policy.dispatch import visible
from apiserver.cel.env import Env
from apiserver.cel.errors import CompileError, EvalError, Source
from apiserver.cel.kubernetes.patchtypes import JsonPatchValue, patch_operation, to_json
from apiserver.cel.kubernetes.policies import (
    POLICY_BUDGET,
    Evaluation,
    OutOfBudget,
    PolicyExpression,
    Variables,
    declared_name,
    policy_env,
)
from apiserver.cel.plan.program import Program, compile_fresh
from apiserver.meta.objects import Object

LARGEST: Final = 64 * 1024
"""Bytes of a value that is shown."""


def bindings_of(spec: Object, attributes: Attributes, decisions: Decisions) -> Mapping[str, Any]:
    """Values of all variables. spec: of an ExpressionReview."""
    namespace = spec.get("namespaceObject")
    return {
        "object": spec.get("object"),
        "oldObject": spec.get("oldObject"),
        "params": spec.get("params"),
        "request": request_of(attributes, Equivalent(attributes.resource, attributes.kind)),
        "namespaceObject": None if namespace is None else visible(namespace),
        "authorizer": decisions.authorizer,
        "authorizer.requestResource": decisions.request_resource,
    }


def evaluate(spec: Object, bindings: Mapping[str, Any]) -> Object:
    """The status of an ExpressionReview: each expression's value or error, in order, with one
    budget as the validations of a policy have."""
    base = policy_env("params" in spec, True, spec.get("mutation", False))
    variables = Variables()
    for one in spec.get("variables") or ():
        variables.add(base, one.get("name", ""), one.get("expression", ""))
    env, evaluation = variables.env(base), Evaluation(bindings, variables)
    results = [_result(env, evaluation, one) for one in spec.get("expressions") or ()]
    return {"results": results, "cost": POLICY_BUDGET - evaluation.budget, "budget": POLICY_BUDGET}


def _result(env: Env, evaluation: Evaluation, asked: Object) -> Object:
    source = asked.get("expression", "")
    result: Object = {"name": asked.get("name", "")}
    program = compile_fresh(env, source)  # not kept: nobody else has this environment
    if not isinstance(program, Program):
        return result | {"issues": _issues(source, program), "error": "compilation failed"}
    result["type"] = declared_name(program.type)
    before = evaluation.budget
    try:
        program.instantiate()
        evaluated = evaluation.evaluate(PolicyExpression(source, program))
    except EvalError as error:
        return result | {"error": f"program instantiation failed: {error.message}"}
    except OutOfBudget as error:
        return result | {"error": str(error)}
    result["cost"] = before - evaluation.budget
    if evaluated.error:
        return result | {"error": evaluated.error}
    return result | _shown(evaluated.value)


def _issues(source: str, problems: Sequence[CompileError]) -> list[Object]:
    """line: from 1, column: from 0, as in cel-go's texts."""
    text, issues = Source(source), []
    for problem in problems:
        line, column = text.place(problem.position)
        issues.append({"line": line, "column": column, "message": problem.message})
    return issues


def _shown(value: Any) -> Object:
    try:
        shown = _json(value)
        size = len(orjson.dumps(shown))
    except (EvalError, TypeError) as error:  # integers beyond 64 bits, and what JSON does not have
        return {"error": f"the value cannot be shown: {error}"}
    if size > LARGEST:
        return {"error": f"the value cannot be shown: it has {size} bytes"}
    return {"value": shown}


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(item) for item in value]
    return patch_operation(value) if isinstance(value, JsonPatchValue) else to_json(value)
