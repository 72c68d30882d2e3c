"""In which tenants somebody is an owner, or bound: the statements, for the event loop
(directory.py) and for commands (tokens.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

MOST = 1_000
"""Tenants that one review tells; how many there are it says all the same."""
_LONGEST_OWNER = 320
"""Characters that `models.Tenant.owners` holds."""

_OF = r"""
WITH mine AS (
    SELECT b.tenant_id AS id, false AS owns, true AS bound FROM pp_bound_in(%s::text[]) b
    UNION ALL
    SELECT t.id, true, false FROM tenancy_tenant t WHERE t.owners && %s::varchar(320)[]
), ways AS (
    SELECT m.id, bool_or(m.owns) AS owns, bool_or(m.bound) AS bound FROM mine m GROUP BY m.id
)
SELECT t.name, t.display_name, t.state, array_remove(
    ARRAY[CASE WHEN m.owns THEN 'owner' END, CASE WHEN m.bound THEN 'binding' END], NULL
), count(*) OVER ()
FROM ways m JOIN tenancy_tenant t ON t.id = m.id
    LEFT JOIN tenancy_authentication a ON a.tenant_id = t.id
WHERE t.state <> 'deleting' AND t.name > %s
    AND (%s = '' OR strpos(coalesce(a.document, ''), %s) = 0
        OR %s AND %s <> ALL(regexp_split_to_array(a.document, '[][{}\s"'',]+')))
ORDER BY t.name LIMIT %s
"""
"""Of a tenant's AuthenticationConfiguration (JSON or YAML) the words are compared with the issuer,
since those of one provider often begin alike; what is no word of it leaves the tenant out wherever
it stands."""
_BETWEEN_WORDS = re.compile(r"[\]\[{}\s\"',]")

_ONE = """
SELECT m.name, m.display_name, m.state, array_remove(
    ARRAY[CASE WHEN m.owns THEN 'owner' END, CASE WHEN m.bound THEN 'binding' END], NULL
), 1 FROM (
    SELECT t.name, t.display_name, t.state, t.owners && %s::varchar(320)[] AS owns, EXISTS (
        SELECT 1 FROM bound_subjects b WHERE b.tenant_id = t.id AND b.subject = ANY(%s::text[])
    ) AS bound FROM tenancy_tenant t WHERE t.id = %s AND t.state <> 'deleting' AND t.name > %s
) m WHERE m.owns OR m.bound
"""


def statement(
    subjects: Sequence[str],
    only: int = 0,
    issuer: str = "",
    *,
    after: str = "",
    most: int | None = None,
) -> tuple[str, Sequence[Any]]:
    """The statement and its parameters, for a transaction that sees all tenants: those of
    `apiserver.endpoints.owntenants.Person`, from behind the name ``after`` on, ``most`` of them.
    Rows: `apiserver.endpoints.server.OwnRows`."""
    asked = [subject for subject in subjects if is_storable(subject)]
    owners = [subject for subject in asked if len(subject) <= _LONGEST_OWNER]
    if only:
        return _ONE, [owners, asked, only, after]
    issuer = issuer if is_storable(issuer) else ""
    is_word = not _BETWEEN_WORDS.search(issuer)
    return _OF, [asked, owners, after, issuer, issuer, is_word, issuer, most]


def is_storable(text: str) -> bool:
    """Whether PostgreSQL could hold it: what others say of who somebody is may be any string."""
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)
