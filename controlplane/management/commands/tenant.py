"""manage.py tenant create|list|suspend|resume|delete."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apiserver.storage.models import TenantHead
from controlplane.errors import OperatorError
from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant

_QUOTAS = {
    "max_objects": "stored objects",
    "max_bytes": "bytes of stored objects",
    "max_watches": "open watches",
    "max_inflight": "requests at a time",
}


class Command(BaseCommand):
    help = "Create, list, suspend, resume and delete tenants."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a tenant")
        create.add_argument("name")
        create.add_argument("--display-name", default="")
        for quota, unit in _QUOTAS.items():
            create.add_argument(f"--{quota.replace('_', '-')}", type=int, help=f"limit: {unit}")
        create.add_argument("--retention-seconds", type=int, help="how long superseded events are kept")
        actions.add_parser("list", help="all tenants with state, objects and bytes")
        for action, text in (
            ("suspend", "refuse all requests"),
            ("resume", "accept requests again"),
            ("delete", "remove with all objects"),
        ):
            sub = actions.add_parser(action, help=text)
            sub.add_argument("name")
            if action == "delete":
                sub.add_argument("--yes", action="store_true", help="do it: there is no way back")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        quotas = {q: options[q] for q in (*_QUOTAS, "retention_seconds")}
        tenant = service.create_tenant(options["name"], display_name=options["display_name"], **quotas)
        self.stdout.write(f'tenant "{tenant.name}" created: /clusters/{tenant.name}')

    def _list(self, options: dict[str, Any]) -> None:
        heads = TenantHead.objects.in_bulk()
        self.stdout.write(f"{'NAME':<32}{'STATE':<12}{'OBJECTS':>10}{'BYTES':>14}  CREATED")
        for t in Tenant.objects.all():
            head = heads.get(t.pk)
            count, size = (head.object_count, head.bytes) if head else (0, 0)
            self.stdout.write(f"{t.name:<32}{t.state:<12}{count:>10}{size:>14}  {t.created_at:%Y-%m-%dT%H:%M:%SZ}")

    def _suspend(self, options: dict[str, Any]) -> None:
        service.suspend(options["name"])
        self.stdout.write(f'tenant "{options["name"]}" suspended')

    def _resume(self, options: dict[str, Any]) -> None:
        service.resume(options["name"])
        self.stdout.write(f'tenant "{options["name"]}" resumed')

    def _delete(self, options: dict[str, Any]) -> None:
        name = options["name"]
        service.get_tenant(name)
        if not options["yes"]:
            raise OperatorError(
                f'Deleting tenant "{name}" removes all its objects and cannot be undone.', f"manage.py tenant delete {name} --yes"
            )
        service.delete_tenant(name)
        self.stdout.write(f'tenant "{name}" deleted')
