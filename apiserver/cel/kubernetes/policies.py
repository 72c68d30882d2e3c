"""Expressions of admission policies and match conditions (k8s.io/apiserver
``pkg/admission/plugin/cel``).

`policy_env` gives the environment; `compile_policy` compiles one expression and checks its result
type; `Variables` compiles the ``variables`` of a policy one after the other, each seeing those
before it; `Evaluation` evaluates over one request with one budget. Object, oldObject and params are
untyped; request, namespaceObject and variables are typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from time import thread_time
from typing import Any, Final

from apiserver.cel.decls import merge
from apiserver.cel.env import Env, Field, StructType
from apiserver.cel.errors import OUT_OF_BUDGET, CelError, EvalError
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.patchtypes import patch_struct
from apiserver.cel.library.authorizer import AUTHORIZER_TYPE, RESOURCE_CHECK_TYPE
from apiserver.cel.library.text import JSON_PATCH
from apiserver.cel.plan.program import (
    PER_CALL_LIMIT,
    ROOM,
    Program,
    compile,
    error_text,
    patience,
    unmade,
)
from apiserver.cel.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_type,
    map_type,
    struct_type,
)
from apiserver.cel.values import Joined, flat
from apiserver.effort import Effort

POLICY_BUDGET: Final = 10_000_000
MATCH_CONDITIONS_BUDGET: Final = 2_500_000
_VARIABLES: Final = "kubernetes.variables"


class RecordType:
    """A struct type with fixed fields whose values are JSON objects."""

    def __init__(self, name: str, fields: Mapping[str, Type]) -> None:
        self.name = name
        self.fields = fields

    def field(self, name: str) -> Field | None:
        field_type = self.fields.get(name)
        return Field(field_type, name) if field_type is not None else None

    def make(self, fields: dict[str, Any]) -> Any:
        return fields


_STRINGS = list_type(STRING)
_NAMES = map_type(STRING, STRING)
_GVK, _GVR, _USER = (
    struct_type(f"kubernetes.{n}") for n in ("GroupVersionKind", "GroupVersionResource", "UserInfo")
)
_RECORDS: Final = [
    RecordType("kubernetes.GroupVersionKind", {"group": STRING, "version": STRING, "kind": STRING}),
    RecordType(
        "kubernetes.GroupVersionResource", {"group": STRING, "version": STRING, "resource": STRING}
    ),
    RecordType(
        "kubernetes.UserInfo",
        {
            "username": STRING,
            "uid": STRING,
            "groups": _STRINGS,
            "extra": map_type(STRING, _STRINGS),
        },
    ),
    RecordType(
        "kubernetes.AdmissionRequest",
        {
            "kind": _GVK,
            "resource": _GVR,
            "subResource": STRING,
            "requestKind": _GVK,
            "requestResource": _GVR,
            "requestSubResource": STRING,
            "name": STRING,
            "namespace": STRING,
            "operation": STRING,
            "userInfo": _USER,
            "dryRun": BOOL,
            "options": DYN,
        },
    ),
    RecordType("kubernetes.NamespaceSpec", {"finalizers": _STRINGS}),
    RecordType(
        "kubernetes.NamespaceCondition",
        {
            "status": STRING,
            "type": STRING,
            "lastTransitionTime": TIMESTAMP,
            "message": STRING,
            "reason": STRING,
        },
    ),
    RecordType(
        "kubernetes.NamespaceStatus",
        {"conditions": list_type(struct_type("kubernetes.NamespaceCondition")), "phase": STRING},
    ),
    RecordType(
        "kubernetes.NamespaceMetadata",
        {
            "name": STRING,
            "generateName": STRING,
            "namespace": STRING,
            "labels": _NAMES,
            "annotations": _NAMES,
            "UID": STRING,
            "creationTimestamp": TIMESTAMP,
            "deletionGracePeriodSeconds": INT,
            "deletionTimestamp": TIMESTAMP,
            "generation": INT,
            "resourceVersion": STRING,
            "finalizers": _STRINGS,
        },
    ),
    RecordType(
        "kubernetes.Namespace",
        {
            "metadata": struct_type("kubernetes.NamespaceMetadata"),
            "spec": struct_type("kubernetes.NamespaceSpec"),
            "status": struct_type("kubernetes.NamespaceStatus"),
        },
    ),
]


@lru_cache(maxsize=16)
def policy_env(params: bool = False, authorizer: bool = True, patch: bool = False) -> Env:
    """The environment of a policy. params: the policy has a paramKind; authorizer: the variable
    ``authorizer`` exists (not in audit annotations); patch: the types Object and JSONPatch and
    jsonpatch.escapeKey exist (mutations)."""
    variables = {
        "object": DYN,
        "oldObject": DYN,
        "namespaceObject": struct_type("kubernetes.Namespace"),
        "request": struct_type("kubernetes.AdmissionRequest"),
    }
    if params:
        variables["params"] = DYN
    if authorizer:
        variables["authorizer"] = AUTHORIZER_TYPE
        variables["authorizer.requestResource"] = RESOURCE_CHECK_TYPE
    structs: dict[str, StructType] = {r.name: r for r in _RECORDS}
    env = BASE.extend(variables, structs)
    if patch:
        env = replace(env, dynamic_structs=patch_struct, functions=merge(env.functions, JSON_PATCH))
    return env


def admission_request(
    kind: Mapping[str, str],
    resource: Mapping[str, str],
    operation: str,
    user: Mapping[str, Any],
    request_kind: Mapping[str, str] | None = None,
    request_resource: Mapping[str, str] | None = None,
    subresource: str = "",
    name: str = "",
    namespace: str = "",
    dry_run: bool = False,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Value of the variable ``request``. kind, resource: group, version and kind or resource, as
    the policy's rule matched them; request_*: as requested; user: username, uid, groups, extra.
    What is empty is absent, as in the JSON of an AdmissionRequest."""
    optional = {
        "subResource": subresource,
        "requestSubResource": subresource,
        "name": name,
        "namespace": namespace,
    }
    return {
        "uid": "",
        "kind": dict(kind),
        "resource": dict(resource),
        "requestKind": dict(request_kind or kind),
        "requestResource": dict(request_resource or resource),
        "operation": operation,
        "userInfo": {k: v for k, v in user.items() if v},
        "object": None,
        "oldObject": None,
        "dryRun": dry_run,
        "options": options,
        **{k: v for k, v in optional.items() if v},
    }


def declared_name(t: Type) -> str:
    """A type as errors about result types print it."""
    return (
        f"{t.name}({', '.join(map(declared_name, t.params))})"
        if t.params and t.kind != "param"
        else t.name
    )


@dataclass(frozen=True, slots=True, eq=False)
class PolicyExpression:
    """A compiled expression, or why it has no program. internal: that is no error of its types, but
    of a constant part that has no value (`int('x')`)."""

    source: str
    program: Program | None = None
    error: str = ""
    internal: bool = False


def compile_policy(env: Env, source: str, results: tuple[Type, ...]) -> PolicyExpression:
    """results: the types that the expression may have; dyn among them allows all. Errors in
    kube-apiserver's words."""
    program = compile(env, source)
    if not isinstance(program, Program):
        return PolicyExpression(source, error="compilation failed: " + error_text(source, program))
    if program.type not in results and DYN not in results:
        names = [declared_name(t) for t in results]
        expected = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        return PolicyExpression(
            source, error=f"must evaluate to {expected} but got {declared_name(program.type)}"
        )
    if why := unmade(program):
        return PolicyExpression(source, error=why, internal=True)
    return PolicyExpression(source, program)


class Variables:
    """The ``variables`` of a policy, in order of declaration."""

    def __init__(self) -> None:
        self.compiled: dict[str, PolicyExpression] = {}
        self.types: dict[str, Type] = {}

    def env(self, base: Env) -> Env:
        """``base`` with the variables compiled so far."""
        record = RecordType(_VARIABLES, dict(self.types))
        return base.extend({"variables": struct_type(_VARIABLES)}, {_VARIABLES: record})

    def add(self, base: Env, name: str, source: str) -> PolicyExpression:
        """Compiles one more variable; one that does not compile fails whoever reads it."""
        compiled = compile_policy(self.env(base), source, (DYN,))
        self.compiled[name] = compiled
        self.types[name] = _declared(compiled.program.type) if compiled.program is not None else DYN
        return compiled


_KEPT = frozenset(
    {"any", "bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"}
)


def _declared(t: Type) -> Type:
    """How a variable's type is known to later expressions: lists, maps and simple types as they
    are, the rest untyped."""
    if t.kind == "list":
        return list_type(_declared(t.params[0]))
    if t.kind == "map":
        return map_type(_declared(t.params[0]), _declared(t.params[1]))
    return t if t.kind in _KEPT else DYN


class _LazyVariables(Mapping[str, Any]):
    """Value of ``variables``: each is evaluated when it is first read."""

    def __init__(
        self,
        compiled: Mapping[str, PolicyExpression],
        evaluate: Callable[[str, PolicyExpression], Any],
    ) -> None:
        self.compiled = compiled
        self.evaluate = evaluate
        self.evaluated: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.evaluated:
            try:
                self.evaluated[name] = self.evaluate(name, self.compiled[name])
            except EvalError as e:
                self.evaluated[name] = e
        value = self.evaluated[name]
        if isinstance(value, EvalError):
            raise EvalError(value.message)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self.compiled)

    def __len__(self) -> int:
        return len(self.compiled)


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """value; or error, in kube-apiserver's words."""

    value: Any = None
    error: str = ""


_TRUE: Final = PolicyResult(True)


class OutOfBudget(Exception):
    """The evaluations of one request cost too much; nothing further may be evaluated. The text is
    kube-apiserver's."""


class Evaluation:
    """Evaluates expressions over one request.

    bindings: object, oldObject, params, request, namespaceObject (JSON or None), authorizer
    (`library.authorizer.Authorizer`) and ``authorizer.requestResource``
    (`library.authorizer.request_resource`)."""

    def __init__(
        self,
        bindings: Mapping[str, Any],
        variables: Variables | None = None,
        budget: int = POLICY_BUDGET,
    ) -> None:
        self.budget = budget
        self.bindings = bindings
        self.variables_cost = 0
        self._effort = patience()
        if variables is not None and variables.compiled:
            lazy = _LazyVariables(variables.compiled, self._variable)
            self.bindings = {**bindings, "variables": lazy}

    def evaluate(self, expression: PolicyExpression) -> PolicyResult:
        """The expression's value, or the error, in kube-apiserver's words, of one that does not
        compile, fails, or costs more than one call may (`PER_CALL_LIMIT`): that ends none of the
        others. What it has cost, with the variables that it is the first to read, is taken off the
        budget that all expressions share. Raises OutOfBudget where that is more than is left."""
        if expression.program is None:
            return PolicyResult(error=f"compilation error: {expression.error}")
        self._effort.room = ROOM
        value, failure, spent = self._run(expression.program, self._effort)
        spent += self.variables_cost
        self.variables_cost = 0
        if spent > self.budget:
            raise OutOfBudget(OUT_OF_BUDGET)
        self.budget -= spent
        if failure is not None:
            return PolicyResult(
                error=f"expression '{expression.source}' resulted in error: {failure.message}"
            )
        return _TRUE if value is True else PolicyResult(value)

    def _run(self, program: Program, effort: Effort) -> tuple[Any, CelError | None, int]:
        try:
            with effort:
                value, spent = program.run(self.bindings, PER_CALL_LIMIT)
                value = flat(value) if type(value) is Joined else value
        except CelError as e:
            return None, e, e.spent
        return value, None, spent

    def _variable(self, name: str, expression: PolicyExpression) -> Any:
        if expression.program is None:
            raise EvalError(f'composited variable "{name}" fails to compile: {expression.error}')
        within = patience(self._effort.until - thread_time())  # it is read while another runs
        value, failure, spent = self._run(expression.program, within)
        self.variables_cost += spent
        if failure is not None:
            raise EvalError(f'composited variable "{name}" fails to evaluate: {failure.message}')
        return value
