"""The console's pure modules, tested by node: merging, configurations, values, texts; and what they
say to a server."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.installation import Installation

MODULES = Path(__file__).parent / "modules"
CHANGE = Path(__file__).resolve().parents[2] / "controlplane/console/static/console/change"
DEMO = "/clusters/demo"
_TEMPLATES = """
import {{ Schemas }} from "{change}/schema.js";
import {{ TEMPLATES, template }} from "{change}/templates.js";
const resources = JSON.parse(process.argv[1]);
const made = resources.filter((r) => `${{r.resource}}.${{r.group}}` in TEMPLATES)
  .map((r) => [r, template(r, "shop", new Schemas({{}}), undefined)]);
console.log(JSON.stringify([Object.keys(TEMPLATES).length, made]));
"""

pytestmark = pytest.mark.skipif(
    not shutil.which("node"), reason="node is not installed: apt-get install nodejs (20 or newer)"
)


def node(*arguments: str) -> str:
    done = subprocess.run(["node", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("module", sorted(MODULES.glob("*.test.mjs")), ids=lambda path: path.stem)
def test_module(module: Path) -> None:
    assert "# pass" in node("--test", "--test-reporter=tap", str(module))


def resources(site: Installation) -> list[dict[str, Any]]:
    """Of every group's preferred version, as lib/discovery.js has them."""
    groups = site.request("GET", f"{DEMO}/apis")[1]["groups"]
    paths = [("", "v1", "/api/v1")]
    for group in groups:
        version = group["preferredVersion"]
        paths.append((group["name"], version["version"], f"/apis/{version['groupVersion']}"))
    found = []
    for name, version, path in paths:
        for resource in site.request("GET", DEMO + path)[1]["resources"]:
            kept = {"kind": resource["kind"], "namespaced": resource["namespaced"]}
            found.append({"group": name, "version": version, "resource": resource["name"], **kept})
    return found


@pytest.mark.slow
def test_the_server_takes_every_template(site: Installation) -> None:
    code = _TEMPLATES.format(change=CHANGE.as_uri())
    told = node("--input-type=module", "-e", code, json.dumps(resources(site)))
    count, templates = json.loads(told)
    assert len(templates) == count
    for resource, obj in templates:
        group, version = resource["group"], resource["version"]
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        path += "/namespaces/shop" if resource["namespaced"] else ""
        query = "?dryRun=All&fieldValidation=Strict"
        status, answer = site.request("POST", f"{DEMO}{path}/{resource['resource']}{query}", obj)
        assert status == 201, (resource["resource"], answer)
