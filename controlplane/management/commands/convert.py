"""manage.py convert: brings manifests to API versions that are served; --check finds those that
have to be.

manage.py convert -f old.yaml --output-version apps/v1 > new.yaml
manage.py convert --check manifests/
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from apiserver.meta.gvk import GroupVersion
from controlplane.management.output import PolyplaneCommand


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
        parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml")
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
                self._check(Path(options["check"]))
            else:
                self._convert(
                    options["filename"],
                    options["output_version"],
                    as_json=options["output"] == "json",
                )
        except (ManifestError, OSError) as e:
            raise CommandError(str(e)) from e

    def _convert(self, name: str, output: str, *, as_json: bool) -> None:
        from controlplane.convert import manifests

        text = sys.stdin.read() if name == "-" else Path(name).read_text()
        try:
            version = GroupVersion.parse(output) if output else None
        except ValueError as e:
            raise CommandError(str(e)) from e
        results = []
        for document in manifests.read(text):
            converted, notes = manifests.convert(document, version)
            results.append(converted)
            for note in notes:
                self.stderr.write(f"note: {note}")
        self.stdout.write(manifests.write(results, as_json=as_json), ending="")

    def _check(self, path: Path) -> None:
        from controlplane.convert import manifests

        has_findings = False
        for file in manifests.files(path):
            try:
                findings = manifests.check(file.read_text())
            except (manifests.ManifestError, UnicodeDecodeError) as e:
                self.stderr.write(f"{file}: skipped: {e}")
                continue
            for finding in findings:
                has_findings = True
                self.stdout.write(f"{file}: {finding.what}: {finding.text}")
        if has_findings:
            sys.exit(1)
        self.stdout.write("no removed or deprecated API versions")
