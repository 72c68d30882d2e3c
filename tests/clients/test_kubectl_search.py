"""Searching with the real kubectl: by a review, and with the plugin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kubectl import PROGRAM, Kubectl, config_map
from tests.support.kubectlplugin import Plugin, plugin, printed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        PROGRAM is None, reason="kubectl is not on PATH: NOTHING of kubectl polyplane is tested"
    ),
]
NS = "searched"
REVIEW = {
    "apiVersion": "search.polyplane.dev/v1",
    "kind": "ObjectSearch",
    "spec": {"text": "haystack-db", "namespaces": [NS]},
}


@pytest.fixture(scope="module", autouse=True)
def haystack(kubectl: Kubectl) -> Iterator[None]:
    """In two tenants a ConfigMap with a needle; in one of them two more without."""
    for context in "default", "demo":
        kubectl.at(context)("create", "namespace", NS)
        settings = config_map("settings", **{"app.conf": f"url = haystack-db.{context}"})
        kubectl.at(context)("create", "-n", NS, "-f", "-", stdin=settings)
    for name in "haystack-a", "haystack-b":
        kubectl("create", "-n", NS, "-f", "-", stdin=config_map(name, k="hay"))
    yield
    for context in "default", "demo":
        kubectl.at(context)("delete", "ns", NS, "--wait=false")


@pytest.fixture
def polyplane(kubectl: Kubectl, tmp_path: Path) -> Plugin:
    return plugin(kubectl, tmp_path)


def test_a_declared_field_is_selected_by(kubectl: Kubectl) -> None:
    spec = {"resource": "configmaps", "path": "data.colour"}
    index = {"apiVersion": "search.polyplane.dev/v1", "kind": "FieldIndex", "spec": spec}
    chosen = ("get", "cm", "-n", NS, "-o", "name", "--field-selector", "data.colour=hay-red")
    kubectl("create", "-f", "-", stdin=json.dumps({**index, "metadata": {"name": "colours"}}))
    try:
        kubectl("create", "-n", NS, "-f", "-", stdin=config_map("red", colour="hay-red"))
        kubectl("wait", "fieldindex/colours", "--for=condition=Ready", "--timeout=300s")
        assert kubectl(*chosen).split() == ["configmap/red"]
        row = kubectl("get", "fieldindexes", "--no-headers").split()
        assert row[:4] == ["colours", "configmaps", "data.colour", "True"]
    finally:
        kubectl("delete", "fieldindex", "colours")
    refused = kubectl.refused(*chosen)
    assert "is not a known field selector" in refused


def test_a_review(kubectl: Kubectl) -> None:
    answer = kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(REVIEW))
    (item,) = json.loads(answer)["status"]["items"]
    assert (item["resource"], item["namespace"], item["name"]) == ("configmaps", NS, "settings")
    assert "objectsearches" in kubectl("api-resources", "--api-group=search.polyplane.dev")
    assert "beginning of a word" in kubectl("explain", "objectsearch.spec.text")
    refused = kubectl.refused(
        "create", "-f", "-", stdin=json.dumps({**REVIEW, "spec": {"text": ""}})
    )
    assert "spec.text: Required value" in refused


def test_the_plugin(polyplane: Plugin) -> None:
    heading, row = printed(polyplane("search", "haystack-db", "-n", NS)).splitlines()
    assert heading.split() == ["NAMESPACE", "OBJECT", "WHERE", "FOUND"]
    assert row.split() == [
        *(NS, "configmaps/settings", "data[app.conf]", "url", "=", "haystack-db.default"),
    ]
    rows = printed(polyplane("search", "HAYSTACK", "-n", NS, "--limit", "2", "--kind", "cm"))
    assert [line.split()[1] for line in rows.splitlines()[1:3]] == [
        "configmaps/haystack-a",
        "configmaps/haystack-b",
    ]
    assert rows.splitlines()[3:] == ["# there may be more: --limit"]
    all_of_it = printed(polyplane("search", "haystack", "-n", NS, "--limit", "0", "-o", "json"))
    assert len(json.loads(all_of_it)["items"]) == 3
    assert "nothing was found" in printed(polyplane("search", "haystack", "--in", "labels"))


def test_counts(kubectl: Kubectl, polyplane: Plugin) -> None:
    def rows(*words: str) -> dict[str, str]:
        heading, *lines = printed(polyplane("count", *words)).splitlines()
        assert heading.split() == ["RESOURCE", "COUNT"]
        return dict(line.split() for line in lines)

    in_one = rows("-n", NS)
    assert in_one["configmaps"] == str(len(kubectl("get", "cm", "-n", NS, "-o", "name").split()))
    assert "namespaces" not in in_one, "they are in none"
    assert int(rows()["configmaps"]) > int(in_one["configmaps"])
    named = rows("cm", "deployments.apps", "ns", "-n", NS)
    assert named.keys() == {"configmaps", "deployments.apps", "namespaces"}
    assert named["deployments.apps"] == "0"
    status = json.loads(printed(polyplane("count", "cm", "-n", NS, "-o", "json")))
    one = {"resource": "configmaps", "namespace": NS, "count": int(in_one["configmaps"])}
    assert status == {"counts": [one]}
    refused = polyplane("count", "nothings")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert 'a resource type "nothings"' in refused.stderr


def test_who_may_list_nothing_is_told_so(polyplane: Plugin) -> None:
    told = printed(polyplane("count", "cm", "secrets", "--as", "eve"))
    assert told.splitlines() == ["nothing was counted", "# you may not list: configmaps, secrets"]


def test_in_several_tenants(polyplane: Plugin) -> None:
    rows = printed(polyplane("search", "haystack-db", "--tenant", "*")).splitlines()
    assert rows[0].split()[0] == "TENANT"
    assert [row.split()[0] for row in rows[1:]] == ["default", "demo"]
    refused = polyplane("search", "haystack-db", "--tenant", "*", context="demo")
    assert refused.returncode == 1
    assert "through tenant default" in refused.stderr
