"""Expressions of policies and of match conditions, compiled when they are first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apiserver.cel.env import Env
from apiserver.cel.kubernetes.policies import PolicyExpression, compile_policy
from apiserver.cel.types import Type


class Lazy:
    """An expression that is compiled when it is asked for."""

    __slots__ = ("_compiled", "_env", "_keep", "_results", "source")

    def __init__(
        self, source: str, env: Callable[[], Env], results: tuple[Type, ...], keep: bool
    ) -> None:
        self.source, self._env, self._results, self._keep = source, env, results, keep
        self._compiled: PolicyExpression | None = None

    def get(self) -> PolicyExpression:
        compiled = self._compiled
        if compiled is None:
            compiled = compile_policy(self._env(), self.source, self._results)
            if self._keep:
                self._compiled = compiled
        return compiled


@dataclass(frozen=True, slots=True)
class Named:
    """A match condition by its name, an audit annotation by its key."""

    name: str
    expression: Lazy
