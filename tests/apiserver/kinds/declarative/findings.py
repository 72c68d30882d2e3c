"""What declared rules find in an object of a schema that has a member of each type."""

from __future__ import annotations

from typing import Any

from apiserver.fielderrors import FieldPath
from apiserver.kinds.declarative.rules import Finding, Rule, Run
from apiserver.kinds.declarative.tree import compile_rules
from apiserver.schema.types import Schema

STRING, NUMBER = Schema(type="string"), Schema(type="integer")
POINTER = Schema(type="integer", go_pointer=True)
ITEM = Schema(type="object", properties={"name": STRING, "port": NUMBER, "value": STRING})
STRUCT = Schema(
    type="object",
    go_pointer=True,
    properties={
        "type": STRING,
        "a": Schema(type="object", properties={}, go_pointer=True),
        "b": POINTER,
        "c": STRING,
    },
)
ROOT = Schema(
    type="object",
    properties={
        "s": STRING,
        "n": NUMBER,
        "p": POINTER,
        "l": Schema(type="array", items=STRING),
        "items": Schema(type="array", items=ITEM),
        "m": Schema(type="object", additional=STRING),
        "u": STRUCT,
        "plain": Schema(type="object", properties={"x": STRING}),
    },
)


def findings(
    rules: dict[str, list[Rule]], obj: Any, old: Any = None, *options: str
) -> list[Finding]:
    run = Run(old is not None, frozenset(options))
    return list(
        compile_rules(rules, ROOT).findings(run, FieldPath(""), obj, old, related=old is not None)
    )


def found(rules: dict[str, list[Rule]], obj: Any, old: Any = None, *options: str) -> list[str]:
    return [str(f.error) for f in findings(rules, obj, old, *options)]
