"""Bad values that kube-apiserver quotes as its internal Go structs: member names in Go's spelling, no omitempty.

Internal types carry no JSON tags, so a message shows ``{"Type":"Magic","RollingUpdate":null}``. Give the members in the order of
the Go type; what differs from capitalising the first letter goes into ``renamed``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.fielderrors import GoSyntax


def show(obj: Mapping[str, Any], members: Sequence[str], renamed: Mapping[str, str] | None = None, **zero: Any) -> GoSyntax:
    """``zero``: values of members that are no pointers and therefore never print as null."""
    names = renamed or {}
    shown = {names.get(m, m[:1].upper() + m[1:]): _go(obj.get(m, zero.get(m))) for m in members}
    return GoSyntax(json.dumps(shown, separators=(",", ":"), ensure_ascii=False))


def _go(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k[:1].upper() + k[1:]: _go(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_go(v) for v in value]
    return value
