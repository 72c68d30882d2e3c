"""manage.py kubeconfig TENANT: a kubeconfig on standard output."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import yaml

from apiserver.user import MASTERS
from controlplane import certificates, environment
from controlplane.datadir import DataDir
from controlplane.errors import OperatorError
from controlplane.kubeconfig import kubeconfig, server_of, tenant_host_url, tenant_port_url
from controlplane.management.output import PolyplaneCommand, add_output
from controlplane.supervisor.initialise import ADMIN, KUBECONFIG
from controlplane.supervisor.supervisor import base_url
from controlplane.tenancy import service, tokens
from controlplane.tenancy.expiry import add_expiry, lifetime
from controlplane.tenancy.models import Tenant


class Command(PolyplaneCommand):
    help = (
        "Print a kubeconfig with a new token that is valid in that tenant only: its "
        "administrator's, or with --user that user's."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant")
        parser.add_argument(
            "--user",
            default="",
            help=(
                f"whom the token stands for; without it {ADMIN} in {MASTERS}, who may do everything"
            ),
        )
        parser.add_argument("--uid", default="", help="with --user")
        parser.add_argument(
            "--group", action="append", default=[], help="with --user; may be given several times"
        )
        add_expiry(parser)
        add_output(parser)
        parser.add_argument(
            "--server",
            default="",
            help="address that clients use; default: where the server was started last",
        )
        own = parser.add_mutually_exclusive_group()
        own.add_argument(
            "--by-port",
            action="store_true",
            help="the port that POLYPLANE_TENANT_PORTS gives the tenant, likewise",
        )
        own.add_argument(
            "--by-host",
            action="store_true",
            help=(
                "name the tenant in the host, below POLYPLANE_TENANT_DOMAIN, and not in the path: "
                "for clients that drop the path"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        data = DataDir.from_environment()
        domain = _domain() if options["by_host"] else ""
        port = _port(options["tenant"]) if options["by_port"] else 0
        tenant = service.get_tenant(options["tenant"])
        new = _token(tenant, options)
        self.stderr.write(tokens.describe(new.token))
        base = options["server"].rstrip("/") or _started_at(data) or base_url()
        ca = certificates.ensure(data).ca
        own = tenant_host_url(base, tenant.name, domain) if domain else ""
        own = tenant_port_url(base, port) if port else own
        text = kubeconfig(base, ca, [tenant.name], new.token.user, new.secret, own)
        self.print(options, yaml.safe_load(text), text.rstrip("\n"))


def _domain() -> str:
    if domain := environment.domain("TENANT_DOMAIN"):
        return domain
    raise OperatorError(
        "--by-host: hosts name no tenants here.",
        "set POLYPLANE_TENANT_DOMAIN, for the server too, and let *.DOMAIN lead to it.",
    )


def _port(tenant: str) -> int:
    if port := environment.tenant_ports().get(tenant):
        return port
    raise OperatorError(
        f"--by-port: tenant {tenant} has no port of its own.",
        f"set POLYPLANE_TENANT_PORTS={tenant}=7001, for the server too, and start it again.",
    )


def _token(tenant: Tenant, options: dict[str, Any]) -> tokens.NewToken:
    if not options["user"] and (options["group"] or options["uid"]):
        raise OperatorError(
            "--group and --uid say more about a --user, and there is none.",
            f"without all three it is {ADMIN}'s kubeconfig.",
        )
    return tokens.create_token(
        options["user"] or ADMIN,
        uid=options["uid"],
        groups=options["group"] if options["user"] else [MASTERS],
        tenant=tenant,
        lifetime=lifetime(options),
        description="kubeconfig",
    )


def _started_at(data: DataDir) -> str:
    """The server's address as its last start wrote it down, which this shell's settings need not
    be; "" before the first start."""
    path = data.file(KUBECONFIG)
    return server_of(path.read_text()) if path.is_file() else ""
