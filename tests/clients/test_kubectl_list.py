"""Questions asked with the plugin of the real kubectl."""

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
NS = "questioned"
SIZES = {"large": "3", "medium": "2", "small": "1", "without": ""}


@pytest.fixture(scope="module", autouse=True)
def asked_about(kubectl: Kubectl) -> Iterator[None]:
    kubectl("create", "namespace", NS)
    for name, size in SIZES.items():
        data = {"size": size} if size else {"other": "x"}
        kubectl("create", "-n", NS, "-f", "-", stdin=config_map(f"question-{name}", **data))
    yield
    kubectl("delete", "ns", NS, "--wait=false")


@pytest.fixture
def polyplane(kubectl: Kubectl, tmp_path: Path) -> Plugin:
    return plugin(kubectl, tmp_path)


HAS_SIZE = ("--filter", "has(self.data.size)")


def names(text: str) -> list[str]:
    """Of the rows that this test has made."""
    words = (line.split() for line in text.splitlines())
    return [w[1].removeprefix("question-") for w in words if w[0] == NS and "question-" in w[1]]


@pytest.mark.parametrize("kind", ["cm", "configmap", "ConfigMaps"])
def test_objects_in_an_order(polyplane: Plugin, kind: str) -> None:
    text = printed(polyplane("list", kind, "-n", NS, *HAS_SIZE, "--sort-by=-.data.size"))
    assert text.splitlines()[0].split() == ["NAMESPACE", "NAME", "AGE"]
    assert names(text) == ["large", "medium", "small"]
    text = printed(polyplane("list", kind, "-A", *HAS_SIZE, "--sort-by", ".data.size"))
    assert names(text) == ["small", "medium", "large"]


def test_the_first_of_them_and_how_many_more(polyplane: Plugin) -> None:
    words = ("list", "cm", "-n", NS, *HAS_SIZE, "--sort-by", ".data.size", "--limit", "1")
    text = printed(polyplane(*words))
    assert (names(text), text.splitlines()[-1]) == (["small"], "# 2 more: --limit")
    found = json.loads(printed(polyplane(*words, "-o", "json")))
    assert [item["data"]["size"] for item in found["items"]] == ["1"]


def test_a_count(polyplane: Plugin) -> None:
    assert printed(polyplane("list", "cm", "-n", NS, *HAS_SIZE, "--count")) == "3\n"
    assert printed(polyplane("list", "cm", "-n", "nowhere", "--count")) == "0\n"
    # not of a namespace, and with a group
    assert int(printed(polyplane("list", "ns", "--count"))) > 1
    assert printed(polyplane("list", "deployments.apps", "-n", NS)) == "nothing was found\n"


def test_what_cannot_be_answered_is_one_line(polyplane: Plugin) -> None:
    refused = polyplane("list", "cm", "--filter", "self.spec.replicas > 1")
    assert refused.returncode == 1
    assert "undefined field 'spec'" in refused.stderr
    unknown = polyplane("list", "gizmos")
    assert unknown.stderr == 'the server doesn\'t have a resource type "gizmos"\n'
