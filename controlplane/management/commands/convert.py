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

from apiserver.meta.gvk import GroupVersion
from controlplane.errors import OperatorError
from controlplane.management.output import FOR_PEOPLE, PolyplaneCommand, add_output, visible

_MEND = "correct the manifest, or name another version with --output-version."


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
            raise OperatorError("What shall be converted?", "give either -f FILE or --check DIR.")
        try:
            if options["check"]:
                options["output"] = options["output"] or "text"
                self._check(Path(options["check"]), options)
            else:
                options["output"] = options["output"] or "yaml"
                self._convert(options["filename"], options)
        except (OSError, UnicodeDecodeError) as e:
            name = options["check"] or options["filename"]
            why = e.strerror if isinstance(e, OSError) else "it is no text"
            raise OperatorError(
                f"{name} cannot be read: {why}.",
                'name a file of YAML or JSON, "-" for standard input, or with --check a directory.',
            ) from e
        except ManifestError as e:
            raise OperatorError(f"Cannot convert: {e}.".replace("..", "."), _MEND) from e

    def _convert(self, name: str, options: dict[str, Any]) -> None:
        from controlplane.convert import manifests

        text = sys.stdin.read() if name == "-" else Path(name).read_text()
        wanted = options["output_version"]
        try:
            version = GroupVersion.parse(wanted) if wanted else None
        except ValueError as e:
            raise OperatorError(f"{e}.", "write a version like apps/v1.") from e
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

        path.stat()
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
