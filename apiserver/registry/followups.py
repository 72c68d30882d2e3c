"""What controllers do for writes, and what is done where there are none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey

Supply = Callable[[Tenant, str], Awaitable[None]]
"""Makes what a new namespace lacks: (tenant, the namespace's name)."""

Follower = Callable[[Tenant, ObjectKey, Object], Awaitable[None]]
"""Does what comes with a new object that claims something, before whoever created it is answered.
Raises nothing."""

Recount = Callable[[int, str], None]
"""Counts the quotas of a namespace again, soon: (tenant, the namespace's name)."""

Protect = Callable[[Tenant], Awaitable[None]]
"""Sees to it that no range of addresses goes while one of them is in use. Raises nothing."""


def nobody_counts(tenant: int, namespace: str) -> None:
    """A Recount."""


async def nobody_protects(tenant: Tenant) -> None:
    """A Protect."""
