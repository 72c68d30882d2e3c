"""Declared: what a kind carries - its rules as data, compiled for each of its versions at first
use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apiserver.fielderrors import FieldPath
from apiserver.kinds.declarative.rules import Finding, Run
from apiserver.kinds.declarative.tree import Node, Rules, compile_rules
from apiserver.schema.types import Schema

_CACHE = "declarative"


class Declared:
    """``rules``: path → rules, the same for all versions of the kind, or ``versions``: those that a
    version has beside them.

    options(obj, old): the options that ifEnabled() and ifDisabled() ask for and that are on for
    this object beside the feature gates, such as a feature that the stored object uses already."""

    def __init__(
        self,
        rules: Rules,
        *,
        versions: Mapping[str, Rules] | None = None,
        options: Callable[[Any, Any], frozenset[str]] | None = None,
    ) -> None:
        self._rules = rules
        self._versions = versions or {}
        self._options = options
        roots = [
            rule
            for rule in rules.get("", ())
            if rule.tag in ("isSubresource", "supportsSubresource")
        ]
        alone = any(rule.tag == "isSubresource" for rule in roots)
        self._subresources = frozenset(
            {rule.argument for rule in roots} | (set() if alone else {""})
        )

    def supports(self, subresource: str) -> bool:
        """Whether the rules look at writes through ``subresource`` ("" for the object itself)."""
        return subresource in self._subresources

    def options(self, obj: Any, old: Any) -> frozenset[str]:
        return self._options(obj, old) if self._options is not None else frozenset()

    def compiled(self, schema: Schema, version: str) -> Node:
        """Compiled once for each schema. Raises DeclarationError."""
        cached = schema.cache.get(_CACHE)
        if cached is None or cached[0] is not self:
            rules = {**self._rules, **self._versions.get(version, {})}
            cached = schema.cache[_CACHE] = (self, compile_rules(rules, schema))
        node: Node = cached[1]
        return node

    def findings(
        self, schema: Schema, version: str, run: Run, obj: Any, old: Any
    ) -> Iterator[Finding]:
        """``old`` is None on create."""
        return self.compiled(schema, version).findings(
            run, FieldPath(""), obj, old, related=run.update
        )
