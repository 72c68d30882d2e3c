"""Pages of lists that can be long: nobody waits for a count of a million rows."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

MOST = 1_000
"""Rows that are counted, and that pages reach: a count looks at each row, and a page at all that
come before it. PostgreSQL expects few rows behind row-level security, and would sort them all for a
page far behind."""


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # generic in stubs only
    """Of a QuerySet. Exact up to `MOST` rows; where there are more, `is_cut`, and the list's foot
    says so."""

    template_name = "console/pagination.html"
    """unfold takes it in the place of its own."""

    @cached_property
    def _begins(self) -> list[Any]:
        return list(self.object_list[: self.per_page + 1])

    @property
    def first_page(self) -> list[Any]:
        """Its rows are there already: what is rare is looked for once, not counted first."""
        return self._begins[: self.per_page]

    @cached_property
    def _counted(self) -> int:
        if len(self._begins) <= self.per_page:
            return len(self._begins)
        return int(self.object_list.order_by()[: MOST + 1].count())  # type: ignore[attr-defined]

    @cached_property
    def count(self) -> int:
        return min(self._counted, MOST)

    @property
    def is_cut(self) -> bool:
        return self._counted > MOST
