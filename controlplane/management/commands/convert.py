"""manage.py convert: brings manifests to API versions that are served; --check finds those that
have to be.

manage.py convert -f old.yaml --output-version apps/v1 > new.yaml
manage.py convert --check manifests/
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from apiserver.meta.gvk import GroupVersion
from controlplane.management.output import FOR_PEOPLE, PolyplaneCommand, add_output, visible


class Command(PolyplaneCommand):
    help = (
        "Converts manifests of removed API versions by the rules of the Deprecated API "
        "Migration Guide."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "-f",
            "--filename",
            metavar="FILE",
            help='a file of YAML or JSON documents; "-" reads standard input',
        )
        parser.add_argument(
            "--output-version",
            metavar="G/V",
            default="",
            help="the version to reach; by default what replaces a removed one",
        )
        add_output(parser, default="", help="default: yaml with -f, text with --check")
        parser.add_argument(
            "--check",
            metavar="DIR",
            help=(
                "only tell which files use removed or deprecated versions; exit code 1 if any does"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from controlplane.convert.manifests import (
            ManifestError,  # all kinds, and a second with them
        )

        if bool(options["check"]) == bool(options["filename"]):
            raise CommandError("give either -f FILE or --check DIR")
        try:
            if options["check"]:
                options["output"] = options["output"] or "text"
                self._check(Path(options["check"]), options)
            else:
                options["output"] = options["output"] or "yaml"
                self._convert(options["filename"], options)
        except (ManifestError, OSError) as e:
            raise CommandError(str(e)) from e

    def _convert(self, name: str, options: dict[str, Any]) -> None:
        from controlplane.convert import manifests

        text = sys.stdin.read() if name == "-" else Path(name).read_text()
        wanted = options["output_version"]
        try:
            version = GroupVersion.parse(wanted) if wanted else None
        except ValueError as e:
            raise CommandError(str(e)) from e
        documents, results = manifests.read(text), []
        for document in documents:
            converted, notes = manifests.convert(document, version)
            results.append(converted)
            for note in notes:
                self.stderr.write(f"note: {note}")
        if options["output"] in FOR_PEOPLE:
            pairs = zip(documents, results, strict=True)
            rows = [row for before, after in pairs for row in _rows(before, after)]
            self.stdout.write("\n".join([f"{'FROM':<40}{'TO':<40}OBJECT", *rows]))
        else:
            as_json = options["output"] == "json"
            self.stdout.write(manifests.write(results, as_json=as_json), ending="")

    def _check(self, path: Path, options: dict[str, Any]) -> None:
        from controlplane.convert import manifests

        found: list[dict[str, Any]] = []
        for file in manifests.files(path):
            try:
                findings = manifests.check(file.read_text())
            except (manifests.ManifestError, UnicodeDecodeError) as e:
                self.stderr.write(f"{file}: skipped: {e}")
                continue
            for finding in findings:
                found.append({"file": str(file), **asdict(finding)})
                self.line(options, f"{file}: {finding.what}: {finding.text}")
        self.document(options, found)
        if found:
            sys.exit(1)
        self.line(options, "no removed or deprecated API versions")


def _rows(before: Any, after: Any) -> Iterator[str]:
    """Of each object of a document."""
    from controlplane.convert.manifests import name_of, objects

    for old, new in zip(objects(before), objects(after), strict=True):
        _, _, name = name_of(new).partition(" ")
        yield visible(f"{old['apiVersion']:<40}{new['apiVersion']:<40}{name}")
