"""manage.py kubeconfig TENANT: a kubeconfig on standard output."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from controlplane import certificates
from controlplane.datadir import DataDir
from controlplane.kubeconfig import kubeconfig, server_of
from controlplane.supervisor.initialise import ADMIN, KUBECONFIG, MASTERS, admin_token
from controlplane.supervisor.supervisor import base_url
from controlplane.tenancy import service, tokens


class Command(BaseCommand):
    help = "Print a kubeconfig for a tenant: the administrator's, or with --user one with a new token for that user in that tenant."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant")
        parser.add_argument("--user", default="", help="make a new token for this user, valid in this tenant only")
        parser.add_argument("--uid", default="")
        parser.add_argument("--group", action="append", default=[])
        parser.add_argument("--server", default="", help="address that clients use; default: where the server was started last")

    def handle(self, *args: Any, **options: Any) -> None:
        data = DataDir.from_environment()
        tenant = service.get_tenant(options["tenant"])
        if options["user"]:
            token = tokens.create_token(
                options["user"], uid=options["uid"], groups=options["group"], tenant=tenant, description="kubeconfig"
            ).secret
        else:
            token = admin_token(data.file(KUBECONFIG))
            token = token or tokens.create_token(ADMIN, groups=[MASTERS], tenant=tenant, description="kubeconfig").secret
        base = options["server"].rstrip("/") or _started_at(data) or base_url()
        text = kubeconfig(base, certificates.ensure(data).ca, [tenant.name], options["user"] or ADMIN, token)
        self.stdout.write(text, ending="")


def _started_at(data: DataDir) -> str:
    """The server's address as its last start wrote it down, which this shell's settings need not be; "" before the first start."""
    path = data.file(KUBECONFIG)
    return server_of(path.read_text()) if path.is_file() else ""
