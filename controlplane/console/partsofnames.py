"""Objects by any part of their names: a look through the keys of all objects, as far as a page may
take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from controlplane.console.paginator import MOST
from controlplane.tenancy.models import Tenant

LOOKED_AT = 500_000
"""Names that one page looks at: some 60 ms."""

_NOBODY = 0
"""A number that no tenant has."""
_NAMES = """
SELECT tenant_id, api_group, resource, namespace, name FROM pp_names(
    %s::bigint, %s::text, %s::text, %s::text, %s::text, %s::bigint, %s::bigint
)
"""
_AMONG = """
(objects.tenant_id, objects.api_group, objects.resource, objects.namespace, objects.name) IN (
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[])
)
"""


class Named(NamedTuple):
    """Keys of objects, in their order, one more than a list counts at most. only: how many
    names were looked at, 0 for all."""

    keys: Sequence[tuple[Any, ...]]
    only: int

    @property
    def are_more(self) -> bool:
        """Than a list counts."""
        return len(self.keys) > MOST

    def of(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Those of the rows."""
        columns = [list(column) for column in zip(*self.keys, strict=True)] or [[]] * 5
        return rows.filter(RawSQL(_AMONG, columns, output_field=BooleanField()))  # noqa: S611


def named(part: str, asked: Any) -> Named:
    """``asked``: the list's parameters, as `controlplane.console.filters.StoredFilterSet` reads
    them."""
    place = [asked.get(name) or None for name in ("tenant", "group", "resource", "namespace")]
    if place[0] is not None:
        tenants = Tenant.objects.filter(name=place[0]).values_list("pk", flat=True)
        place[0] = tenants.first() or _NOBODY
    place[1] = "" if place[1] == "core" else place[1]
    with connection.cursor() as cursor:
        cursor.execute(_NAMES, [*place, part, LOOKED_AT, MOST + 1])
        found = cursor.fetchall()
    cut = bool(found) and found[-1][0] is None
    return Named(found[:-1], LOOKED_AT) if cut else Named(found, 0)
