"""manage.py restored: what has to follow when the database has been restored from a backup, or a
replica has been promoted that had not received all."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from apiserver.storage import tenants as storage
from controlplane.management.asking import ask
from controlplane.management.output import PolyplaneCommand, add_output
from controlplane.tenancy import service


class Command(PolyplaneCommand):
    help = (
        "Say that the database is an older one than clients have seen: after a restore from a "
        "backup, or the promotion of a replica that lags. The resourceVersions of all tenants go "
        "on far above those that were lost, and whoever asks for what came after an earlier one "
        "gets 410 Expired and lists anew. Of each object's history the last version is left. To be "
        "run before the server starts."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", default="", help="only this tenant")
        parser.add_argument("--yes", action="store_true", help="do it without asking")
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        moved = []
        tenants = service.one_or_all(options["tenant"])
        whose = f'tenant "{options["tenant"]}"' if options["tenant"] else "all tenants"
        lost = f"All versions of the objects of {whose} but the last"
        ask(
            options,
            f"{lost} will be forgotten.",
            f"{lost} would be forgotten, which cannot be undone.",
        )
        for tenant in tenants:
            head = storage.bump(tenant.pk)
            self.line(options, f"{tenant.name}: goes on from resourceVersion {head}")
            moved.append({"tenant": tenant.name, "resourceVersion": str(head)})
        self.document(options, moved)
