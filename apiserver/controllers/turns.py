"""Turns of the controllers of one process: a few at a time, so that they leave the database to
requests, and fewer of one tenant. A turn that takes long waits for the tenant's own admission
webhooks, not for the database, and keeps nobody from a place."""

from __future__ import annotations

from apiserver.flow.lanes import Lanes

AT_ONCE, SLOW, OF_ONE_TENANT = 8, 4, 2
PATIENCE = 1.0


def turns() -> Lanes:
    return Lanes(AT_ONCE, SLOW, OF_ONE_TENANT, PATIENCE)
