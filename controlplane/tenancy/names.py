"""What a tenant may be called: a DNS label (RFC 1123)."""

from __future__ import annotations

import re

PATTERN = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAME = re.compile(PATTERN)


def is_name(text: str) -> bool:
    """Whether a tenant could have that name."""
    return len(text) <= 63 and _NAME.fullmatch(text) is not None
