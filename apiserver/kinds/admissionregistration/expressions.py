"""The CEL expressions of webhooks and policies: whether one compiles, in the environment that
admission evaluates it in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from apiserver.cel.kubernetes.patchtypes import JSON_PATCH_TYPE, OBJECT_TYPE
from apiserver.cel.kubernetes.policies import (
    PolicyExpression,
    Variables,
    compile_policy,
    policy_env,
)
from apiserver.cel.types import BOOL, DYN, NULL, STRING, Type, list_type

Definitions = tuple[tuple[str, str], ...]
"""(name, expression) of the variables of a policy, in order."""

_MOST_KEPT: Final = 10_000
"""Code points of variables that stay compiled for the expressions that use them; longer ones would
take too much memory."""
ANYTHING: Final = (DYN,)
CONDITION: Final = (BOOL,)
MESSAGE: Final = (STRING,)
ANNOTATION: Final = (STRING, NULL)
OBJECT: Final = (OBJECT_TYPE,)
PATCHES: Final = (list_type(JSON_PATCH_TYPE),)


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression as it stands in a spec. results: types that it may evaluate to; params,
    authorizer: whether it may use those; mutating: whether it may make Objects and JSONPatches;
    variables: None where there is no ``variables`` at all."""

    source: str
    results: tuple[Type, ...] = ANYTHING
    params: bool = False
    authorizer: bool = True
    mutating: bool = False
    variables: Definitions | None = None


def compiled(expression: Expression) -> PolicyExpression:
    """With what is wrong with it, in kube-apiserver's words."""
    env = policy_env(expression.params, expression.authorizer, expression.mutating)
    if expression.variables is not None:
        short = sum(len(source) for _, source in expression.variables) <= _MOST_KEPT
        define = _variables if short else _variables.__wrapped__
        env = define(expression.variables, expression.params).env(env)
    return compile_policy(env, expression.source, expression.results)


@lru_cache(maxsize=32)
def _variables(definitions: Definitions, params: bool) -> Variables:
    """Those of mutating policies, too, are compiled without Objects and JSONPatches
    (validateVariable)."""
    variables = Variables()
    for name, source in definitions:
        variables.add(policy_env(params), name, source)
    return variables
