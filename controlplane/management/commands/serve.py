"""manage.py serve: one worker process."""

from __future__ import annotations

import signal
import socket
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from controlplane import certificates, environment
from controlplane.datadir import DataDir
from controlplane.supervisor.listener import bind, bind_tenants, listen
from controlplane.worker import serve


class Command(BaseCommand):
    help = (
        "Serve the API and the console in this one process; `up` starts several and "
        "supervises them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--fd",
            type=int,
            default=-1,
            help="inherited listening socket; without it, listens on POLYPLANE_BIND:POLYPLANE_PORT",
        )

        parser.add_argument(
            "--tenant-fd",
            action="append",
            default=[],
            metavar="TENANT=FD",
            help="inherited listening socket of one tenant's port (POLYPLANE_TENANT_PORTS)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["fd"] >= 0:
            listener = _inherited(options["fd"])
            pairs = (word.partition("=") for word in options["tenant_fd"])
            of_tenants = {tenant: _inherited(int(fd)) for tenant, _, fd in pairs}
        else:
            host = settings.POLYPLANE_BIND
            listener = bind(host, settings.POLYPLANE_PORT)
            of_tenants = bind_tenants(host, environment.tenant_ports())
            for bound in (listener, *of_tenants.values()):
                listen(bound)
        for signum in (
            signal.SIGTERM,
            signal.SIGINT,
        ):  # uvicorn raises the signal again when it has stopped: end with its exit code
            signal.signal(signum, lambda *_: None)
        code = serve(listener, of_tenants, certificates.ensure(DataDir.from_environment()))
        if code:
            sys.exit(code)


def _inherited(fd: int) -> socket.socket:
    listener = socket.socket(fileno=fd)
    listener.setblocking(False)
    return listener
