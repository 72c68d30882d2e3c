"""manage.py migrate: Django's own, as the owner of the tables, and then the grants of the workers'
role."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from controlplane import roles
from controlplane.database import OWNER
from controlplane.errors import OperatorError


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=OWNER)

    def handle(self, *args: Any, **options: Any) -> None:
        _refuse_what_is_half_done(connections[options["database"]])
        super().handle(*args, **options)
        if not (options["plan"] or options["check_unapplied"]):
            roles.grant(
                connections[options["database"]], str(connections["default"].settings_dict["USER"])
            )


def _refuse_what_is_half_done(connection: BaseDatabaseWrapper) -> None:
    """A migration that replaces others counts as applied when all of them are. When only some are,
    Django wants the others' files, which are gone, and without them leaves the app's tables as they
    are, without a word."""
    applied = MigrationRecorder(connection).applied_migrations()
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        missing = [key for key in migration.replaces if key not in applied]
        if missing and len(missing) < len(migration.replaces):
            raise OperatorError(
                f"The database is between two versions: {app}.{missing[0][1]} was never applied, "
                f"and {app}.{name} replaces it only whole.",
                "migrate once with the Polyplane that still has it (docs/operations.md, "
                "Upgrades), then with this one.",
            )
