"""The rules of a schema (x-kubernetes-validations) as a tree that mirrors the schema where it has
rules. Those of a node are compiled when an object first reaches them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from threading import Lock
from typing import Final
from weakref import ref

from apiserver.cel.kubernetes.decltypes import schema_decl_type
from apiserver.cel.kubernetes.rulecompile import CompiledRule, compile_node_rules
from apiserver.schema.types import UNSURVEYED, Schema

KEPT_CODE_POINTS: Final = 1_000_000
"""Of all rules that stay compiled, in all schemas of the process: each takes up to some 270
bytes."""
_CACHE: Final = "cel.rules"


@dataclass(slots=True, eq=False, weakref_slot=True)
class RuleNode:
    """Rules of one schema node and of what is below it. root: an embedded or whole resource."""

    schema: Schema
    root: bool
    properties: dict[str, RuleNode] = field(default_factory=dict)
    items: RuleNode | None = None
    additional: RuleNode | None = None
    compiled: list[CompiledRule] | None = None

    def rules(self) -> list[CompiledRule]:
        compiled = self.compiled
        if compiled is None:
            compiled = self.compiled = compile_node_rules(
                self.schema, schema_decl_type(self.schema, self.root)
            )
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
        schema.cache[key] = _node(schema, root)
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


def _node(schema: Schema | None, root: bool) -> RuleNode | None:
    if schema is None or not _has_rules(schema):
        return None
    node = RuleNode(schema, root)
    node.items = _node(schema.items, schema.items is not None and schema.items.embedded_resource)
    node.additional = _node(
        schema.additional, schema.additional is not None and schema.additional.embedded_resource
    )
    for name, prop in (schema.properties or {}).items():
        child = _node(prop, prop.embedded_resource)
        if child is not None:
            node.properties[name] = child
    return node
