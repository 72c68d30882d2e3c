"""manage.py serve: one worker process."""

from __future__ import annotations

import signal
import socket
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from controlplane import certificates
from controlplane.datadir import DataDir
from controlplane.supervisor.listener import bind, listen
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

    def handle(self, *args: Any, **options: Any) -> None:
        if options["fd"] >= 0:
            listener = socket.socket(fileno=options["fd"])
            listener.setblocking(False)
        else:
            listener = bind(settings.POLYPLANE_BIND, settings.POLYPLANE_PORT)
            listen(listener)
        for signum in (
            signal.SIGTERM,
            signal.SIGINT,
        ):  # uvicorn raises the signal again when it has stopped: end with its exit code
            signal.signal(signum, lambda *_: None)
        code = serve(listener, certificates.ensure(DataDir.from_environment()))
        if code:
            sys.exit(code)
