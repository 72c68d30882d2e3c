"""What Polyplane's own commands share: they begin at once, and print text for people or JSON for
programs.

With `-o json` a command writes exactly one JSON document to standard output, with the members'
names in the manner of Kubernetes (``createdAt``) and times in RFC 3339; notes and progress go to
standard error in both forms.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand


def add_output(parser: ArgumentParser) -> None:
    """The option `-o json`."""
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")


def timestamp(time: datetime | None) -> str | None:
    """RFC 3339 in UTC, whole seconds, as API objects have it."""
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%SZ}"


class PolyplaneCommand(BaseCommand):
    requires_system_checks = [Tags.security]
    """Is the data directory closed to others? Django's other checks load the URLs, and with them
    the console and every kind, which takes a second; `check` runs them all."""

    def line(self, options: dict[str, Any], text: str) -> None:
        """A line as soon as it is known; nothing with `-o json`."""
        if options["output"] == "text":
            self.stdout.write(text)

    def document(self, options: dict[str, Any], value: Any) -> None:
        """All of it in the end; nothing without `-o json`."""
        if options["output"] == "json":
            self.stdout.write(json.dumps(value, indent=2, ensure_ascii=False))

    def print(self, options: dict[str, Any], value: Any, text: str | Callable[[], str]) -> None:
        """``value`` with `-o json`, otherwise ``text``."""
        if options["output"] == "text":
            self.stdout.write(text if isinstance(text, str) else text())
        self.document(options, value)
