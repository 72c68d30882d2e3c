"""JSON sent as YAML, which is what most clients that apply send: read by the JSON parser, four
times as fast.

Only where both parsers mean the same: printable ASCII without escapes by number, no repeated keys,
no fractions or exponents (YAML's way through Go makes 1 of 1.0), no numbers beyond 18 digits, no
key of a length or a place that YAML does not take for one.
"""

from __future__ import annotations

import json
import re
from typing import Any

_OTHERWISE = re.compile(rb"[^\x20-\x7e\n\r]|\\u|[0-9]{19}|[\r\n]\s*:")
_LONGEST_KEY = 500  # YAML stops at 1024 characters, quotes and escapes included


class _Differs(Exception):
    """The two parsers may not mean the same by this text."""


def read(data: bytes) -> Any:
    """The value of a JSON object that YAML reads in the same way; None for all other texts, of
    which the YAML parser decides."""
    if data[:1] != b"{" or _OTHERWISE.search(data):
        return None
    try:
        return json.loads(
            data, object_pairs_hook=_members, parse_float=_refuse, parse_constant=_refuse
        )
    except (_Differs, ValueError, RecursionError):
        return None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs) or max(map(len, members), default=0) > _LONGEST_KEY:
        raise _Differs
    return members


def _refuse(text: str) -> Any:
    raise _Differs
