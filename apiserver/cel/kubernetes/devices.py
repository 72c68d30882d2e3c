"""Device selectors of dynamic resource allocation (k8s.io/dynamic-resource-allocation ``cel``): the
environment in which they compile.

One variable, ``device``: the driver's name, attributes and capacities by domain and identifier, and
whether the device may be allocated more than once. The API server only compiles selectors;
schedulers evaluate them.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from apiserver.cel.env import Env
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.policies import RecordType, declared_name
from apiserver.cel.library.versions import QUANTITY_TYPE
from apiserver.cel.plan.program import Program, compile, error_text
from apiserver.cel.types import ANY, BOOL, STRING, Type, map_type, struct_type

_DEVICE: Final = "kubernetes.DRADevice"


def _by_domain(value: Type) -> Type:
    return map_type(STRING, map_type(STRING, value))


@cache
def _env() -> Env:
    fields = {
        "driver": STRING,
        "attributes": _by_domain(ANY),
        "capacity": _by_domain(QUANTITY_TYPE),
        "allowMultipleAllocations": BOOL,
    }
    return BASE.extend({"device": struct_type(_DEVICE)}, {_DEVICE: RecordType(_DEVICE, fields)})


def selector_problem(source: str) -> str:
    """Why an expression cannot select devices, in kube-apiserver's words, or ""."""
    program = compile(_env(), source)
    if not isinstance(program, Program):
        return "compilation failed: " + error_text(source, program)
    if program.type not in (BOOL, ANY):
        return f"must evaluate to bool or the unknown type, not {declared_name(program.type)}"
    return ""
