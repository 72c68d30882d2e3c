"""StoredKeys: the generations of service accounts' signing keys as the database has them, for the
request path; and how an operator makes and ends them.

A new generation verifies at once and signs a little later: by then all workers of all machines have
heard of it, so that no token meets one that does not know its key.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from apiserver.authn.accountkeys import FIRST, FOREVER, Generation
from controlplane.errors import OperatorError
from controlplane.tenancy.fetching import Fetch
from controlplane.tenancy.models import KeyGeneration

REMEMBERED = 2.0
"""Seconds for which a process does not ask for generations again."""
SIGNS_AFTER = 10
"""Seconds until a new generation signs, where nobody says otherwise."""
_SKEW = 3600
"""Seconds for which a generation is kept beyond its last token: clocks differ."""

_GENERATIONS = """
SELECT number, algorithm, salt, signs_from <= now(), lasts FROM tenancy_keygeneration
WHERE retired_at IS NULL AND (lasts > %s OR number = (
    SELECT max(number) FROM tenancy_keygeneration WHERE retired_at IS NULL AND signs_from <= now()
) OR signs_from > now()) ORDER BY number
"""
_KEEP = """
INSERT INTO tenancy_accountkey (tenant_id, generation_id, sealed) VALUES (%s, %s, %s)
ON CONFLICT (tenant_id, generation_id) DO UPDATE SET generation_id = EXCLUDED.generation_id
RETURNING sealed
"""


class StoredKeys:
    """``fetch`` runs the queries; the contract is `apiserver.authn.accountkeys.KeyStore`."""

    def __init__(self, fetch: Fetch, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch, self._clock = fetch, clock
        self._generations: tuple[Generation, ...] = ()
        self._due = 0.0

    async def generations(self) -> tuple[Generation, ...]:
        if self._generations and self._clock() < self._due:
            return self._generations
        began = self._clock()
        rows = await self._fetch(_GENERATIONS, [int(time.time()) - _SKEW])
        generations = tuple(Generation(n, of, bytes(salt), *rest) for n, of, salt, *rest in rows)
        if not any(generation.signs for generation in generations):
            # a database that has never been migrated to have any
            generations = (FIRST, *generations)
        if generations != self._generations:
            self._generations = generations
        self._due = began + REMEMBERED
        return self._generations

    async def sealed(self, tenant: int, generation: int) -> bytes | None:
        rows = await self._fetch(
            "SELECT sealed FROM tenancy_accountkey WHERE tenant_id = %s AND generation_id = %s",
            [tenant, generation],
        )
        return bytes(rows[0][0]) if rows else None

    async def keep(self, tenant: int, generation: int, sealed: bytes) -> bytes:
        return bytes((await self._fetch(_KEEP, [tenant, generation, sealed]))[0][0])

    async def lasts(self, generation: int, until: int) -> None:
        await self._fetch(
            "UPDATE tenancy_keygeneration SET lasts = greatest(lasts, %s) WHERE number = %s "
            "RETURNING number",
            [until, generation],
        )


# --- commands -------------------------------------------------------------------------------------
def rotate(algorithm: str, after: int = SIGNS_AFTER) -> KeyGeneration:
    """A new generation, which signs ``after`` so many seconds."""
    return KeyGeneration.objects.create(
        algorithm=algorithm,
        salt=secrets.token_bytes(32),
        signs_from=timezone.now() + timedelta(seconds=after),
        lasts=0,
    )


def generations() -> list[KeyGeneration]:
    return list(KeyGeneration.objects.all())


def state(generation: KeyGeneration, all_of_them: Sequence[KeyGeneration]) -> str:
    """In one word."""
    now = timezone.now()
    if generation.retired_at is not None:
        return "retired"
    if generation.signs_from > now:
        return "published"
    if generation.number == _signing(all_of_them):
        return "signs"
    return "verifies" if generation.lasts > now.timestamp() else "ended"


def _signing(all_of_them: Sequence[KeyGeneration]) -> int:
    now = timezone.now()
    return max(
        (g.number for g in all_of_them if g.retired_at is None and g.signs_from <= now), default=-1
    )


def retire(number: int, *, force: bool = False) -> KeyGeneration:
    """Its tokens are refused within two seconds. Raises OperatorError for one that signs, and
    without ``force`` for one whose tokens have not ended."""
    with transaction.atomic():
        held = list(KeyGeneration.objects.select_for_update())
        generation = next((g for g in held if g.number == number), None)
        if generation is None:
            raise OperatorError(
                f"There is no generation {number} of keys.", "`manage.py rotate_keys --list`."
            )
        if state(generation, held) in ("signs", "published"):
            raise OperatorError(
                f"Generation {number} signs, or will.", "make a newer one: manage.py rotate_keys"
            )
        if generation.lasts > timezone.now().timestamp() and not force:
            raise OperatorError(
                f"Tokens of generation {number} are still good: {ends(generation)}.",
                f"end them: manage.py rotate_keys --retire {number} --force",
            )
        if generation.retired_at is None:
            generation.retired_at = timezone.now()
            generation.save(update_fields=["retired_at"])
    return generation


def ends(generation: KeyGeneration) -> str:
    """When its last token does."""
    if generation.lasts >= FOREVER:
        return "for ever (tokens in Secrets do not end)"
    if not generation.lasts:
        return "none was signed"
    return f"until {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(generation.lasts))}"
