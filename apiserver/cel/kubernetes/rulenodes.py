"""The rules of a schema (x-kubernetes-validations) as a tree that mirrors the schema where it has
rules. Those of a node are compiled when an object first reaches them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from threading import Lock
from typing import Final
from weakref import ref

from apiserver.cel.kubernetes.decltypes import element_schema, is_exposed, schema_decl_type
from apiserver.cel.kubernetes.rulecompile import CompiledRule, compile_node_rules
from apiserver.schema.types import UNSURVEYED, Schema

KEPT_CODE_POINTS: Final = 1_000_000
"""Of all rules that stay compiled, in all schemas of the process: each takes up to some 270
bytes."""
_CACHE: Final = "cel.rules"


@dataclass(slots=True, eq=False, weakref_slot=True)
class RuleNode:
    """Rules of one schema node and of what is below it. root: an embedded or whole resource; typed:
    whose CEL type its values have, in general the schema itself, None where that is no type."""

    schema: Schema
    root: bool
    typed: Schema | None
    properties: dict[str, RuleNode] = field(default_factory=dict)
    items: RuleNode | None = None
    additional: RuleNode | None = None
    compiled: list[CompiledRule] | None = None

    def rules(self) -> list[CompiledRule]:
        """Only for a node that has a type."""
        assert self.typed is not None
        compiled = self.compiled
        if compiled is None:
            root = self.root if self.typed is self.schema else self.typed.embedded_resource
            declared = schema_decl_type(self.typed, root)
            assert declared is not None
            compiled = self.compiled = compile_node_rules(self.schema, declared)
            _keep(self)
        return compiled


_lock = Lock()
_kept: deque[tuple[ref[RuleNode], int]] = deque()


def _keep(node: RuleNode) -> None:
    """Forgets what was compiled first when what is compiled comes to more than KEPT_CODE_POINTS; it
    is compiled again when it is needed."""
    size = sum(len(r.rule) + len(r.message_expression) for r in node.schema.rules)
    with _lock:
        _kept.append((ref(node), size))
        total = sum(
            kept for _, kept in _kept
        )  # counted anew, because a thread may be ended at any place
        while total > KEPT_CODE_POINTS and len(_kept) > 1:
            oldest, size = _kept.popleft()
            total -= size
            if (dropped := oldest()) is not None:
                dropped.compiled = None


def compile_rules(schema: Schema, root: bool = True) -> RuleNode | None:
    """The rules of a schema, None when it has none. Kept with the schema. root: whether it is a
    whole resource's."""
    key = _CACHE if root else _CACHE + ".part"
    if key not in schema.cache:
        schema.cache[key] = _node(schema, root, schema if is_exposed(schema) else None)
    node: RuleNode | None = schema.cache[key]
    return node


def _has_rules(schema: Schema | None) -> bool:
    if schema is None:
        return False
    if schema.below is not UNSURVEYED:
        return schema.below.rules
    if schema.rules or _has_rules(schema.items) or _has_rules(schema.additional):
        return True
    return any(_has_rules(p) for p in (schema.properties or {}).values())


def _node(schema: Schema | None, root: bool, typed: Schema | None) -> RuleNode | None:
    """As ``validator`` in apiextensions ``schema/cel/validation.go``: elements have the type that
    the type above has for its own, members without a type are left out with all below them."""
    if schema is None or not _has_rules(schema):
        return None
    node = RuleNode(schema, root, typed)
    element = element_schema(typed) if typed is not None else None
    node.items = _below(schema.items, element)
    node.additional = _below(schema.additional, element)
    members = (typed.properties or {}) if typed is not None else {}
    for name, prop in (schema.properties or {}).items():
        member = members.get(name)
        if member is None or not is_exposed(member):
            continue
        child = _below(prop, member)
        if child is not None:
            node.properties[name] = child
    return node


def _below(schema: Schema | None, typed: Schema | None) -> RuleNode | None:
    return _node(schema, schema is not None and schema.embedded_resource, typed)
