"""manage.py reset: remove what this clone keeps on disk."""

from __future__ import annotations

import os
import shutil
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.datadir import DataDir
from controlplane.embedded.server import stop_stray
from controlplane.errors import OperatorError


class Command(BaseCommand):
    help = "Remove the data directory: embedded database, keys, certificates, kubeconfig. A database in DATABASE_URL is not touched."

    def handle(self, *args: Any, **options: Any) -> None:
        data = DataDir.from_environment()
        lock = data.try_lock()
        if lock is None:
            raise OperatorError(
                f"Polyplane runs on {data.path} (process {data.lock_holder()}).", f"stop it first: kill {data.lock_holder()}"
            )
        stop_stray(data)
        for path in (data.cluster, data.socket_dir, data.path):
            shutil.rmtree(path, ignore_errors=True)
        os.close(lock)
        if data.path.exists():
            raise OperatorError(f"{data.path} could not be removed whole.", "remove it as the user who made it.")
        self.stdout.write(f"{data.path} removed")
