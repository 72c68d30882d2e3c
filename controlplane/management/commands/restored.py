"""manage.py restored: what has to follow when the database has been restored from a backup, or a
replica has been promoted that had not received all."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from apiserver.storage import presence
from apiserver.storage import tenants as storage
from controlplane.errors import OperatorError
from controlplane.management.asking import ask
from controlplane.management.output import PolyplaneCommand, add_output
from controlplane.tenancy import service


class Command(PolyplaneCommand):
    help = (
        "Say that the database is an older one than clients have seen: after a restore from a "
        "backup, or the promotion of a replica that lags. The resourceVersions of all tenants go "
        "on far above those that were lost, and whoever asks for what came after an earlier one "
        "gets 410 Expired and lists anew; of objects' history the last version is left. To be run "
        "before the server starts: refused while one is connected."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", default="", help="only this tenant")
        parser.add_argument(
            "--while-running",
            action="store_true",
            help="beside a running server, too: every watch ends, and the history until now is "
            "gone",
        )
        parser.add_argument("--yes", action="store_true", help="do it without asking")
        add_output(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["while_running"] and (connections := presence.stores()):
            raise _served(connections)
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


def _served(connections: int) -> OperatorError:
    return OperatorError(
        f"A server uses this database ({connections} connections). It may still answer and write "
        "by what it remembers of the time before the restore.",
        "stop every server of this database first. If nothing was restored, this is not to be run: "
        "it takes all history. --while-running does it all the same.",
    )
