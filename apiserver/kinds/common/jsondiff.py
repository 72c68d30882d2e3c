"""The difference of two values as kube-apiserver shows it in messages: a unified diff of indented
JSON, without file names.

Source: k8s.io/apimachinery ``util/diff`` (since 1.33).
"""

from __future__ import annotations

import difflib
import json
from typing import Any

from apiserver.golang.json import escape_html


def go_diff(old: Any, new: Any) -> str:
    """``old``, ``new``: JSON values with the member names of Go's internal types. Ends with a
    newline unless they are equal."""
    before, after = (
        escape_html(json.dumps(value, indent=1, ensure_ascii=False).encode()).decode().split("\n")
        for value in (old, new)
    )
    lines = difflib.unified_diff(before, after, lineterm="", n=3)
    return "".join(f"{line}\n" for line in list(lines)[2:])
