"""How two values differ, for messages about immutable specs.

kube-apiserver shows go-cmp's report, whose text is explicitly unstable (its spaces change from build to build), so clients cannot depend
on it. This shows the same information in the same manner: the members that differ, ``-`` for the old and ``+`` for the new value.
"""

from __future__ import annotations

import json
from typing import Any


def show(old: Any, new: Any, go_type: str) -> str:
    """A report in the manner of cmp.Diff; "" for equal values. ``go_type``: the name that stands before the outermost brace."""
    if old == new:
        return ""
    return f"  {go_type}{{\n{_members(old, new, 1)}  }}\n"


def _members(old: dict[str, Any], new: dict[str, Any], depth: int) -> str:
    tabs = "\t" * depth
    lines = []
    same = 0
    for name in sorted(old.keys() | new.keys()):
        a, b = old.get(name), new.get(name)
        if a == b:
            same += 1
        elif isinstance(a, dict) and isinstance(b, dict):
            lines.append(f"  {tabs}{_go_name(name)}: {{\n{_members(a, b, depth + 1)}  {tabs}}},\n")
        else:
            lines += [f"- {tabs}{_go_name(name)}: {_value(a)},\n", f"+ {tabs}{_go_name(name)}: {_value(b)},\n"]
    if same:
        lines.append(f"  {tabs}... // {same} identical fields\n")
    return "".join(lines)


def _go_name(name: str) -> str:
    return name[:1].upper() + name[1:]


def _value(value: Any) -> str:
    return "nil" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
