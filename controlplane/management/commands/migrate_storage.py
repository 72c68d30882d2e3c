"""manage.py migrate_storage: stores objects that are stored in an old version in today's storage
version."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import DEFAULT_DB_ALIAS, connections

from apiserver.meta.gvk import GroupResource
from apiserver.storage.errors import StorageError, TenantGone
from apiserver.storage.models import ObjectRow
from apiserver.storage.visibility import django_within
from controlplane.errors import OperatorError
from controlplane.management.output import PolyplaneCommand, add_output
from controlplane.tenancy import service

if TYPE_CHECKING:  # all kinds, and a second with them: loaded when there is something to do
    from apiserver.controllers.storagemigration import Outcome, StorageMigration
    from apiserver.kinds.served import Resource
    from apiserver.registry.customcatalog import TenantCatalog
    from apiserver.registry.scope import Tenant

AGAIN = "nothing is lost: run the command again."


class Command(PolyplaneCommand):
    help = (
        "Store objects that are stored in an old version in today's storage version, then leave "
        "only that one in status.storedVersions "
        "of their definition. May be run while the server runs, stopped at any time, and run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", default="", help="only this tenant")
        parser.add_argument(
            "--resource",
            default="",
            metavar="RESOURCE.GROUP",
            help="only this resource, such as widgets.example.com",
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="say what would be done; objects are converted and not stored",
        )

        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from apiserver.registry.scope import Tenant

        tenants = [Tenant(t.pk, t.name) for t in service.one_or_all(options["tenant"])]
        stored = {t.id: _stored(t.id) for t in tenants}
        connections[DEFAULT_DB_ALIAS].close()  # the migration has its own
        try:
            outcomes = asyncio.run(self._migrate(tenants, stored, options))
        except StorageError as error:
            raise OperatorError(f"The database failed: {error}.", AGAIN) from error
        except KeyboardInterrupt:
            raise OperatorError("Interrupted.", AGAIN) from None
        self.document(options, [_described(tenant, outcome) for tenant, outcome in outcomes])
        if failed := sum(len(outcome.failed) for _, outcome in outcomes):
            raise OperatorError(
                f"{failed} objects could not be converted or stored; they are as they were, and so "
                f"are the storedVersions of their "
                "definitions.",
                "see to their conversion webhooks, then run the command again.",
            )

    async def _migrate(
        self,
        tenants: Sequence[Tenant],
        stored: dict[int, set[GroupResource]],
        options: dict[str, Any],
    ) -> list[tuple[Tenant, Outcome]]:
        """Of each resource that was looked at."""
        from apiserver.controllers.storagemigration import Moved, StorageMigration
        from controlplane.wiring import open_registry

        only: str = options["resource"]
        outcomes: list[tuple[Tenant, Outcome]] = []
        async with open_registry() as (registry, catalog):
            migration = StorageMigration(registry, catalog)
            for tenant in tenants:
                try:
                    await catalog.fresh(tenant)
                    for resource in _resources(catalog, tenant, stored[tenant.id], only):
                        outcome = await self._one(migration, tenant, resource, options)
                        outcomes.append((tenant, outcome))
                except TenantGone:
                    self.stderr.write(f"{tenant.name}: deleted meanwhile")
                except Moved as error:
                    raise OperatorError(f"Tenant {tenant.name}: {error}.", AGAIN) from error
                finally:
                    catalog.forget(tenant.id)
        if only and not outcomes:
            raise OperatorError(
                f'No tenant has a resource "{only}".',
                "name it RESOURCE.GROUP, such as widgets.example.com.",
            )
        if not any(outcome.outdated or outcome.trimmed for _, outcome in outcomes):
            self.line(options, "Nothing to do: all objects are stored in today's versions.")
        return outcomes

    async def _one(
        self,
        migration: StorageMigration,
        tenant: Tenant,
        resource: Resource,
        options: dict[str, Any],
    ) -> Outcome:
        dry_run: bool = options["dry_run"]
        name = f"{tenant.name}: {resource.group_resource}"

        def progress(looked: int, done: int) -> None:
            if done:
                self.stderr.write(
                    f"{name}: {looked} objects looked at, {done} "
                    f"{'to be stored' if dry_run else 'stored'} anew"
                )

        outcome = await migration.migrate(tenant, resource, progress, dry_run=dry_run)
        for failure in outcome.failed:
            self.stderr.write(f"{name}: {failure.object} failed: {failure.reason}")
        if outcome.outdated or outcome.trimmed:
            self.line(options, _summary(name, outcome, dry_run))
        return outcome


def _stored(tenant: int) -> set[GroupResource]:
    """Where the tenant has objects."""
    with django_within(tenant):
        rows = (
            ObjectRow.objects.filter(tenant_id=tenant)
            .order_by()
            .values_list("api_group", "resource")
            .distinct()
        )
        return {GroupResource(*row) for row in rows}


def _resources(
    catalog: TenantCatalog, tenant: Tenant, stored: set[GroupResource], only: str
) -> list[Resource]:
    """Those that own the place where their objects are, and have any; definitions also without
    objects."""
    resources = [
        r
        for r in catalog.all(tenant)
        if r.versions_may_go or (r.storage == r.group_resource and r.storage in stored)
    ]
    return [r for r in resources if only in ("", str(r.group_resource))]


def _described(tenant: Tenant, outcome: Outcome) -> dict[str, Any]:
    return {
        "tenant": tenant.name,
        "resource": str(outcome.resource),
        "storageVersion": outcome.version,
        "outdated": outcome.outdated,
        "failed": [{"object": f.object, "reason": f.reason} for f in outcome.failed],
        "trimmedVersions": list(outcome.trimmed),
    }


def _summary(name: str, outcome: Outcome, dry_run: bool) -> str:
    done = outcome.outdated - len(outcome.failed)
    text = (
        f"{name}: {done} objects {'would be' if dry_run else 'are now'} stored in {outcome.version}"
    )
    if outcome.failed:
        text += f", {len(outcome.failed)} failed"
    return (
        f"{text}; no longer in storedVersions: {', '.join(outcome.trimmed)}"
        if outcome.trimmed
        else text
    )
