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
import {{ TEMPLATES, isReport, template }} from "{change}/templates.js";
import {{ readFileSync }} from "node:fs";
const made = JSON.parse(readFileSync(process.argv[1])).map(([resource, document]) => {{
  const schemas = new Schemas(document);
  return [resource, template(resource, "shop", schemas, schemas.root(resource))];
}}).filter(([resource]) => !isReport(resource));
const known = made.filter(([r]) => `${{r.resource}}.${{r.group}}` in TEMPLATES);
console.log(JSON.stringify([Object.keys(TEMPLATES).length, known.length, made]));
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
    """Of every group's preferred version, as lib/discovery.js has them, that can be created."""
    groups = site.request("GET", f"{DEMO}/apis")[1]["groups"]
    paths = [("", "v1", "/api/v1")]
    for group in groups:
        version = group["preferredVersion"]
        paths.append((group["name"], version["version"], f"/apis/{version['groupVersion']}"))
    found = []
    for name, version, path in paths:
        for resource in site.request("GET", DEMO + path)[1]["resources"]:
            kept = {"kind": resource["kind"], "namespaced": resource["namespaced"]}
            if "/" in resource["name"] or not {"create", "get"} <= set(resource["verbs"]):
                continue
            found.append({"group": name, "version": version, "resource": resource["name"], **kept})
    return found


def document(site: Installation, resource: dict[str, Any]) -> Any:
    """The OpenAPI document of its version."""
    group = f"apis/{resource['group']}" if resource["group"] else "api"
    return site.request("GET", f"{DEMO}/openapi/v3/{group}/{resource['version']}")[1]


@pytest.mark.slow
def test_the_server_takes_a_new_object_of_every_kind_as_it_is(
    site: Installation, tmp_path: Path
) -> None:
    listed = tmp_path / "resources.json"
    listed.write_text(json.dumps([(one, document(site, one)) for one in resources(site)]))
    code = _TEMPLATES.format(change=CHANGE.as_uri())
    count, known, made = json.loads(node("--input-type=module", "-e", code, str(listed)))
    assert known == count and len(made) > count
    for resource, obj in made:
        group, version = resource["group"], resource["version"]
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        path += "/namespaces/shop" if resource["namespaced"] else ""
        query = "?dryRun=All&fieldValidation=Strict"
        status, answer = site.request("POST", f"{DEMO}{path}/{resource['resource']}{query}", obj)
        assert status == 201, (resource["resource"], answer)
