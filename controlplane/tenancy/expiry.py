"""How long a new token lasts, as commands ask for it: ``--days N`` or ``--no-expiry``, and 90 days
where nobody says."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from controlplane.errors import OperatorError
from controlplane.tenancy.tokens import DEFAULT_LIFETIME

MOST_DAYS = 36_500


def add_expiry(parser: ArgumentParser) -> None:
    expiry = parser.add_mutually_exclusive_group()
    expiry.add_argument(
        "--days",
        type=int,
        help=f"the token expires after so many days (default {DEFAULT_LIFETIME.days})",
    )
    expiry.add_argument(
        "--no-expiry", action="store_true", help="the token works until it is revoked"
    )


def lifetime(options: dict[str, Any]) -> timedelta | None:
    """None: for ever. Raises OperatorError."""
    if options["no_expiry"]:
        return None
    days: int | None = options["days"]
    if days is None:
        return DEFAULT_LIFETIME
    if not 1 <= days <= MOST_DAYS:
        raise OperatorError(
            f"A token cannot last {days} days.", f"--days 1 to {MOST_DAYS}, or --no-expiry."
        )
    return timedelta(days=days)
