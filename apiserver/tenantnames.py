"""What a tenant may be called: a DNS label (RFC 1123), as the constraint on the table has it."""

from __future__ import annotations

import re
from functools import lru_cache

PATTERN = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_LONGEST = 63
_LABEL = re.compile(PATTERN)


def is_name(name: str) -> bool:
    """Whether a tenant could have that name."""
    return len(name) <= _LONGEST and _is_label(name)


@lru_cache(4096)
def _is_label(name: str) -> bool:
    return _LABEL.fullmatch(name) is not None
