"""The last error of each policy and webhook of a tenant, as far as this process lives."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from apiserver.endpoints.metric_types import Labels
from apiserver.meta.newest import Newest

NAME = "=polyplane_admission_last_errors"
"""In a `Snapshot`: with "=" at its beginning, since it goes with its worker."""
LONGEST = 1024
"""Characters of a text."""


class LastErrors:
    """most: of how many policies and webhooks; those that failed longest ago are forgotten."""

    def __init__(self, most: int) -> None:
        self._errors = Newest[Labels, tuple[float, str]](most)

    def failed(self, whose: Labels, text: str) -> None:
        """whose: what it is of (validating, mutating, or a webhook's step), names."""
        self._errors.keep(whose, (time.time(), text[:LONGEST]))

    def cells(self) -> list[tuple[Sequence[str], Any]]:
        """(whose, (seconds since 1970, text)): as JSON, a part of a `Snapshot`."""
        return list(self._errors.items())
