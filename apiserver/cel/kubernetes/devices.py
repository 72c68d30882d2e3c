"""Device selectors of dynamic resource allocation (k8s.io/dynamic-resource-allocation ``cel``): the
environment in which they compile, and what they may cost.

One variable, ``device``: the driver's name, attributes and capacities by domain and identifier, and
whether the device may be allocated more than once. The API server only compiles selectors and
estimates their cost; schedulers evaluate them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from apiserver.cel.cost.estimate import Path
from apiserver.cel.cost.ranges import Range
from apiserver.cel.env import Env
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.policies import RecordType, declared_name
from apiserver.cel.kubernetes.rulecompile import estimate
from apiserver.cel.library.versions import QUANTITY_TYPE
from apiserver.cel.plan.program import Program, compile, error_text, unmade
from apiserver.cel.syntax.macros import BINDINGS
from apiserver.cel.types import ANY, BOOL, STRING, Type, map_type, struct_type
from apiserver.fielderrors import FieldErrors, FieldPath, forbidden, internal, invalid

SELECTOR_LIMIT: Final = 1_000_000
"""Units that one selector may cost at most by its estimate (``CELSelectorExpressionMaxCost``)."""
_DEVICE: Final = "kubernetes.DRADevice"
_DRIVER_BYTES, _DOMAIN_BYTES, _IDENTIFIER_BYTES, _ATTRIBUTE_BYTES = 63, 63, 32, 64
_MOST_ATTRIBUTES: Final = 32


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
    env = BASE.extend({"device": struct_type(_DEVICE)}, {_DEVICE: RecordType(_DEVICE, fields)})
    return replace(env, macros={**env.macros, **BINDINGS})


@dataclass(frozen=True, slots=True, eq=False)
class _Sized:
    """How large a part of a device can be: most bytes or entries, and its parts. element: of a map;
    its keys are strings of key_bytes."""

    most: int
    fields: Mapping[str, _Sized] = field(default_factory=dict)
    key_bytes: int = 0
    element: _Sized | None = None

    def below(self, name: str) -> _Sized | None:
        if name in ("@items", "@values"):
            return self.element
        if name == "@keys":
            return _Sized(self.key_bytes) if self.element is not None else None
        # an attribute may be selected by its identifier; a capacity so selected has no known size
        return self.fields.get(name) or (_ATTRIBUTE if self.element is _ATTRIBUTE else None)


def _domains(value: _Sized) -> _Sized:
    identifiers = _Sized(_MOST_ATTRIBUTES, key_bytes=_IDENTIFIER_BYTES, element=value)
    return _Sized(_MOST_ATTRIBUTES, key_bytes=_DOMAIN_BYTES, element=identifiers)


_ATTRIBUTE: Final = _Sized(_ATTRIBUTE_BYTES)
_SIZES: Final = _Sized(
    0,
    {
        "driver": _Sized(_DRIVER_BYTES),
        "attributes": _domains(_ATTRIBUTE),
        "capacity": _domains(_Sized(0)),
        "allowMultipleAllocations": _Sized(1),
    },
)


def _size_of(path: Path) -> Range | None:
    if not path or path[0] != "device":
        return None
    sized: _Sized | None = _SIZES
    for name in path[1:]:
        sized = sized.below(name) if sized is not None else None
    return Range(0, sized.most) if sized is not None else None


def selector_errors(source: str, path: FieldPath) -> FieldErrors:
    """Why an expression cannot select devices, in kube-apiserver's words: it does not compile, is
    neither a bool nor of a type that only evaluation tells, or may cost more than
    SELECTOR_LIMIT."""
    program = compile(_env(), source)
    if not isinstance(program, Program):
        return [invalid(path, source, "compilation failed: " + error_text(source, program))]
    if program.type not in (BOOL, ANY):
        wrong = declared_name(program.type)
        return [invalid(path, source, f"must evaluate to bool or the unknown type, not {wrong}")]
    if why := unmade(program):
        return [internal(path, why)]
    if estimate(program, _size_of) > SELECTOR_LIMIT:
        return [forbidden(path, "too complex, exceeds cost limit")]
    return []
