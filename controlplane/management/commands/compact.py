"""manage.py compact: removes superseded events and raises the floor below which reads and watches
get 410."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from apiserver.storage.compact import RETENTION, Compaction, compact, version_before
from apiserver.storage.errors import TooLarge
from apiserver.storage.models import TenantHead
from apiserver.storage.pool import Database
from apiserver.storage.visibility import django_everywhere
from controlplane.database import conninfo
from controlplane.errors import OperatorError
from controlplane.management.durations import duration
from controlplane.management.output import PolyplaneCommand, add_output
from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant


def _first_given(*choices: timedelta | None) -> timedelta:
    """Nothing at all (0 s) is a choice, too."""
    return next(choice for choice in choices if choice is not None)


class Command(PolyplaneCommand):
    help = (
        "Remove superseded events of one tenant or of all. Watches and reads from below the new "
        "floor get 410 Expired. "
        "Running servers do this by themselves; the command is for reclaiming space now."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", default="", help="only this tenant")
        add_output(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--retain",
            type=duration,
            help="keep what is younger (default: the tenant's own retention, or 24h)",
        )
        what.add_argument(
            "--to",
            type=int,
            metavar="RV",
            help="raise the floor to this resourceVersion; needs --tenant",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["to"] is not None and not options["tenant"]:
            raise OperatorError(
                "--to needs --tenant: resourceVersions of tenants have nothing to do with each "
                "other.",
                "add --tenant NAME.",
            )
        tenants = service.one_or_all(options["tenant"])
        with django_everywhere():
            retention = dict(TenantHead.objects.values_list("tenant_id", "retention"))
        connections[DEFAULT_DB_ALIAS].close()  # compaction has its own
        selected = {
            t: _first_given(options["retain"], retention[t.pk], RETENTION)
            for t in tenants
            if t.pk in retention
        }
        self.document(options, asyncio.run(self._compact(selected, options)))

    async def _compact(
        self, tenants: dict[Tenant, timedelta], options: dict[str, Any]
    ) -> list[dict[str, Any]]:
        database = Database(conninfo(connections.settings[DEFAULT_DB_ALIAS]), size=1)
        await database.open()
        try:
            compacted = []
            for tenant, retain in tenants.items():
                done = await self._compact_one(database, tenant, retain, options["to"])
                name, floor, removed = tenant.name, done.floor, done.removed
                self.line(options, f"{name}: floor {floor}, {removed} events removed")
                value = {"tenant": name, "floor": str(floor), "removedEvents": removed}
                compacted.append(value)
            return compacted
        finally:
            await database.close()

    async def _compact_one(
        self, database: Database, tenant: Tenant, retain: timedelta, to: int | None
    ) -> Compaction:
        def progress(through: int, removed: int) -> None:
            self.stderr.write(
                f"{tenant.name}: through resourceVersion {through}, {removed} events removed"
            )

        try:
            target = to if to is not None else await version_before(database, tenant.pk, retain)
            return await compact(database, tenant.pk, target, progress=progress)
        except TooLarge as error:
            raise OperatorError(
                f"Tenant {tenant.name} is at resourceVersion {error.current}, below {to}.",
                "choose a lower --to.",
            ) from error
