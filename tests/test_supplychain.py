"""The lock files pin every file by its hash, and the SBOM and the list of licences say what the
lock files say."""

from __future__ import annotations

import json
import re
import tomllib
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import supplychain
from tools.supplychain import DEV, LICENCES, ROOT, RUNTIME, SBOM, Package, documents, read_lock


@pytest.mark.parametrize("path", [RUNTIME, DEV], ids=["runtime", "dev"])
def test_every_line_is_a_pinned_package_with_hashes(path: Path) -> None:
    packages = read_lock(path)
    assert len(packages) > 40 and all(package.hashes for package in packages)
    assert len({(p.name, p.version) for p in packages}) == len(packages)
    assert "make lock" in path.read_text().partition("==")[0]


def test_development_installs_what_runs() -> None:
    runtime, dev = set(read_lock(RUNTIME)), {(p.name, p.version): p for p in read_lock(DEV)}
    assert runtime
    for package in runtime:
        assert dev[package.name, package.version].hashes == package.hashes


def test_what_the_project_asks_for_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for path, asked in (
        (RUNTIME, project["dependencies"]),
        (DEV, project["optional-dependencies"]["dev"]),
    ):
        locked = {p.name: p.version for p in read_lock(path)}
        assert asked, path
        for requirement in map(Requirement, asked):
            assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), (
                requirement
            )


@pytest.mark.parametrize(
    "line",
    [
        "django==5.2.19",
        "django",
        "django>=5 --hash=sha256:" + "0" * 64,
        "django==5 --hash=md5:00",
        "-e .",
        "https://x/y.whl",
    ],
)
def test_a_line_without_pin_or_hash_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text(f"# comment\n{line}\n")
    with pytest.raises(ValueError, match="no pinned package with hashes"):
        read_lock(path)


def test_an_entry_is_read_with_its_marker(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text(
        f"a-b==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:{'0' * 64} \\\n    "
        f"--hash=sha256:{'1' * 64}\n"
    )
    assert read_lock(path) == [
        Package("a-b", "1.0", "sys_platform == 'win32'", ("0" * 64, "1" * 64))
    ]


def test_the_documents_are_what_the_lock_files_say() -> None:
    """Else: make lock."""
    stored = documents()
    assert stored
    for path, text in stored.items():
        assert path.read_text() == text, f"{path.name} is stale"


def test_the_sbom_and_the_licences_name_every_locked_package_once() -> None:
    locked = sorted(f"{p.name} {p.version}" for p in read_lock(DEV))
    listed = json.loads(SBOM.read_text())["components"]
    components = [c for c in listed if c["purl"].startswith("pkg:pypi/")]
    assert sorted(f"{c['name']} {c['version']}" for c in components) == locked
    python, _, _ = LICENCES.read_text().partition("## In the console's scripts")
    rows = re.findall(r"^\| ([a-z0-9-]+) \| (\d\S*) \| \S", python, re.M)
    assert sorted(f"{name} {version}" for name, version in rows) == locked
    required = sorted(f"{c['name']} {c['version']}" for c in components if c["scope"] == "required")
    assert required == sorted(f"{p.name} {p.version}" for p in read_lock(RUNTIME))


def test_what_the_console_bundles_is_listed_as_npm_has_locked_it() -> None:
    """Else: see tools/console/README.md."""
    lock = json.loads((ROOT / "tools/console/package-lock.json").read_text())["packages"]
    locked = {
        path.removeprefix("node_modules/"): entry["version"]
        for path, entry in lock.items()
        if path and not entry.get("dev")
    }
    assert all(entry.get("integrity") for path, entry in lock.items() if path)
    bundled = {p["name"]: p["version"] for p in supplychain.vendored()}
    assert bundled == {name: locked[name] for name in bundled}
    components = json.loads(SBOM.read_text())["components"]
    scripts = [c for c in components if "npm" in c["purl"]]
    assert bundled == {c["name"]: c["version"] for c in scripts if c["scope"] == "required"}
    texts = (supplychain.VENDORED.parent / "LICENCES.txt").read_text()
    for name, version in bundled.items():
        assert f"| {name} | {version} | " in LICENCES.read_text()
        assert f"{name} {version} (" in texts


def test_what_only_the_consoles_tests_use_is_listed_beside_its_licence() -> None:
    lock = json.loads((ROOT / "tools/console/package-lock.json").read_text())["packages"]
    components = json.loads(SBOM.read_text())["components"]
    scripts = [c for c in components if "npm" in c["purl"] and c["scope"] == "excluded"]
    (axe,) = supplychain.vendored(supplychain.TESTED)
    assert [(c["name"], c["version"]) for c in scripts] == [("axe-core", axe["version"])]
    assert lock["node_modules/axe-core"]["version"] == axe["version"]
    assert f"| axe-core | {axe['version']} | MPL-2.0 |" in LICENCES.read_text()
    folder = supplychain.TESTED.parent
    assert f"axe v{axe['version']}" in (folder / "axe.min.js").read_text()[:200]
    assert "Mozilla Public License" in (folder / "LICENSE").read_text()


def test_the_sbom_holds_nothing_that_changes_by_itself() -> None:
    text = SBOM.read_text()
    assert not re.search(r"serialNumber|timestamp|uuid", text)
    assert json.loads(text)["specVersion"] == "1.6" and documents() == documents()


def test_a_package_that_does_not_name_its_licence_stops_the_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = Message()
    said["License"] = "see there"
    monkeypatch.setattr(supplychain, "metadata", lambda name: said)
    with pytest.raises(LookupError, match="does not say"):
        supplychain.licence_of("odd")
