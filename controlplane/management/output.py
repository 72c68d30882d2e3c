"""What Polyplane's own commands share: they begin at once, and print text for people or JSON for
programs.

With `-o json` or `-o yaml` a command writes exactly one document to standard output, with the
members' names in the manner of Kubernetes (``createdAt``) and times in RFC 3339; notes and progress
go to standard error in all forms.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

import yaml
from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandParser

from controlplane.commandline import OUTPUTS

FOR_PEOPLE = frozenset({"text", "table"})


def add_output(parser: ArgumentParser, default: str = "text", help: str = "") -> None:
    """The option `-o`."""
    parser.add_argument("-o", "--output", choices=OUTPUTS, default=default, help=help or None)


class _Action(CommandParser):
    """What it does not know it refuses itself, by its own usage: argparse leaves that to the parser
    of the whole command, whose usage does not help."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown


def add_actions(parser: ArgumentParser) -> Any:
    """Of a command that has several; each is a parser."""
    return parser.add_subparsers(dest="action", required=True, parser_class=_Action)


def visible(text: str) -> str:
    """On one line, and nothing that a terminal would do: anybody may have chosen names in it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class PolyplaneCommand(BaseCommand):
    requires_system_checks = [Tags.security]
    """Is the data directory closed to others? Django's other checks load the URLs, and with them
    the console and every kind, which takes a second; `check` runs them all."""

    def line(self, options: dict[str, Any], text: str) -> None:
        """A line as soon as it is known; nothing with `-o json` and `-o yaml`."""
        if options["output"] in FOR_PEOPLE:
            self.stdout.write(text)

    def document(self, options: dict[str, Any], value: Any) -> None:
        """All of it in the end; nothing without `-o json` or `-o yaml`."""
        if options["output"] == "yaml":
            self.stdout.write(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))
        if options["output"] == "json":
            self.stdout.write(json.dumps(value, indent=2, ensure_ascii=False))

    def print(self, options: dict[str, Any], value: Any, text: str | Callable[[], str]) -> None:
        """``value`` with `-o json` or `-o yaml`, otherwise ``text``."""
        if options["output"] in FOR_PEOPLE:
            self.stdout.write(text if isinstance(text, str) else text())
        self.document(options, value)
