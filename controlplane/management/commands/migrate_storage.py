"""manage.py migrate_storage: stores objects that are stored in an old version in today's storage version."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DEFAULT_DB_ALIAS, connections

from apiserver.controllers.storagemigration import Moved, Outcome, StorageMigration
from apiserver.kinds.base import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import StorageError, TenantGone
from apiserver.storage.models import ObjectRow
from controlplane.errors import OperatorError
from controlplane.tenancy import models, service
from controlplane.wiring import open_registry

AGAIN = "nothing is lost: run the command again."


class Command(BaseCommand):
    help = (
        "Store objects that are stored in an old version in today's storage version, then leave only that one in status.storedVersions "
        "of their definition. May be run while the server runs, stopped at any time, and run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", default="", help="only this tenant")
        parser.add_argument("--resource", default="", metavar="RESOURCE.GROUP", help="only this resource, such as widgets.example.com")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done; objects are converted and not stored")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = [service.get_tenant(options["tenant"])] if options["tenant"] else models.Tenant.objects.order_by("name")
        tenants = [Tenant(t.pk, t.name) for t in chosen]
        stored = {t.id: _stored(t.id) for t in tenants}
        connections[DEFAULT_DB_ALIAS].close()  # the migration has its own
        try:
            failed = asyncio.run(self._migrate(tenants, stored, options["resource"], options["dry_run"]))
        except StorageError as error:
            raise OperatorError(f"The database failed: {error}.", AGAIN) from error
        except KeyboardInterrupt:
            raise OperatorError("Interrupted.", AGAIN) from None
        if failed:
            raise OperatorError(
                f"{failed} objects could not be converted or stored; they are as they were, and so are the storedVersions of their "
                "definitions.",
                "see to their conversion webhooks, then run the command again.",
            )

    async def _migrate(self, tenants: Sequence[Tenant], stored: dict[int, set[GroupResource]], only: str, dry_run: bool) -> int:
        """How many objects failed."""
        failed, known, current = 0, not only, True
        async with open_registry() as (registry, catalog):
            migration = StorageMigration(registry, catalog)
            for tenant in tenants:
                try:
                    await catalog.fresh(tenant)
                    for resource in _resources(catalog, tenant, stored[tenant.id], only):
                        known = True
                        outcome = await self._one(migration, tenant, resource, dry_run)
                        failed += len(outcome.failed)
                        current = current and not (outcome.outdated or outcome.trimmed)
                except TenantGone:
                    self.stderr.write(f"{tenant.name}: deleted meanwhile")
                except Moved as error:
                    raise OperatorError(f"Tenant {tenant.name}: {error}.", AGAIN) from error
                finally:
                    catalog.forget(tenant.id)
        if not known:
            raise OperatorError(f'No tenant has a resource "{only}".', "name it RESOURCE.GROUP, such as widgets.example.com.")
        if current:
            self.stdout.write("Nothing to do: all objects are stored in today's versions.")
        return failed

    async def _one(self, migration: StorageMigration, tenant: Tenant, resource: Resource, dry_run: bool) -> Outcome:
        name = f"{tenant.name}: {resource.group_resource}"

        def progress(looked: int, done: int) -> None:
            if done:
                self.stderr.write(f"{name}: {looked} objects looked at, {done} {'to be stored' if dry_run else 'stored'} anew")

        outcome = await migration.migrate(tenant, resource, progress, dry_run=dry_run)
        for what, why in outcome.failed:
            self.stderr.write(f"{name}: {what} failed: {why}")
        if outcome.outdated or outcome.trimmed:
            self.stdout.write(_summary(name, outcome, dry_run))
        return outcome


def _stored(tenant: int) -> set[GroupResource]:
    """Where the tenant has objects."""
    rows = ObjectRow.objects.filter(tenant_id=tenant).order_by().values_list("api_group", "resource").distinct()
    return {GroupResource(*row) for row in rows}


def _resources(catalog: TenantCatalog, tenant: Tenant, stored: set[GroupResource], only: str) -> list[Resource]:
    """Those that own the place where their objects are, and have any; definitions also without objects."""
    found = [r for r in catalog.all(tenant) if r.custom or (r.storage == r.group_resource and r.storage in stored)]
    return [r for r in found if only in ("", str(r.group_resource))]


def _summary(name: str, outcome: Outcome, dry_run: bool) -> str:
    done = outcome.outdated - len(outcome.failed)
    text = f"{name}: {done} objects {'would be' if dry_run else 'are now'} stored in {outcome.version}"
    if outcome.failed:
        text += f", {len(outcome.failed)} failed"
    return f"{text}; no longer in storedVersions: {', '.join(outcome.trimmed)}" if outcome.trimmed else text
