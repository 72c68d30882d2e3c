"""Where the CEL expressions of webhooks and policies are handed to a compiler.

Compiling needs the environment that admission evaluates in (object, request, authorizer, variables ...), and that lives in a package
above this one. It installs itself once at start with `install`; until then expressions are not looked at, which only tools see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression as it stands in a spec. result: what it must evaluate to, as messages name it ("bool", "string", "Object",
    "list(JSONPatch)"; several: any of them; none: anything); params, authorizer: whether it may use those; mutating: whether it may make
    Objects and JSONPatches; variables: (name, expression) of the variables before it."""

    source: str
    result: tuple[str, ...] = ()
    params: bool = False
    authorizer: bool = True
    mutating: bool = False
    variables: tuple[tuple[str, str], ...] = ()


Compiler = Callable[[Expression], str]
"""What is wrong with the expression, or ""."""

_compilers: list[Compiler] = []


def install(compiler: Compiler) -> None:
    _compilers[:] = [compiler]


def problem(expression: Expression) -> str:
    return _compilers[0](expression) if _compilers else ""
