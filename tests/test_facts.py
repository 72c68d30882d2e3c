"""The packages' data files are what tools/facts.py makes of the facts, and every one has its source
named there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import facts

ROOT = Path(__file__).parent.parent
DATA = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "apiserver").rglob("data/*.json")
)


@pytest.mark.parametrize("path", DATA)
def test_every_data_file_has_its_source_named(path: str) -> None:
    assert facts.__doc__ is not None and path in facts.__doc__


@pytest.mark.shared
@pytest.mark.parametrize("path", facts.MADE)
def test_a_data_file_is_what_its_facts_make(path: str) -> None:
    assert (ROOT / path).read_text() == facts.text_of(path)


def test_what_is_served_follows_the_facts_and_keeps_our_own() -> None:
    fact = {
        "group": "",
        "version": "v1",
        "resource": "things",
        "kind": "Thing",
        "scope": "Namespaced",
        "singular": "thing",
        "verbs": ["get", "list"],
        "subresources": [
            {
                "subresource": "status",
                "responseKind": {"group": "", "version": "", "kind": "Thing"},
                "verbs": ["get"],
            }
        ],
    }
    deprecated = {"verbs": ["get"], "deprecated": "v1 Thing is deprecated"}
    kept = [
        {"group": "", "resource": "things", "versions": {"v1": deprecated}},
        {"group": "gone.k8s.io", "resource": "gone", "versions": {"v1": {}}},
        {"group": "toys.polyplane.dev", "resource": "widgets", "versions": {"v1": {}}},
    ]
    made = json.loads(facts.resources([fact], kept))
    assert [entry["resource"] for entry in made] == ["things", "widgets"]
    assert made[0]["versions"]["v1"] == {
        "verbs": ["get", "list"],
        "subresources": {"status": {"kind": "/v1/Thing", "verbs": ["get"]}},
        "deprecated": "v1 Thing is deprecated",
    }


def test_a_column_without_a_description_is_an_error() -> None:
    with pytest.raises(KeyError, match="New"):
        facts.columns({"/v1/things": [["New", "string", "", 0]]}, {"things": []})


def test_messages_take_along_what_they_are_made_of() -> None:
    messages = {
        "k8s.io.api.core.v1.ConfigMap": {
            "data": [2, "map<string, string>"],
            "metadata": [1, "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta"],
            "items": [3, "repeated k8s.io.api.core.v1.Part"],
        },
        "k8s.io.api.core.v1.Part": {"name": [1, "string"]},
        "k8s.io.api.core.v1.NotNeeded": {"name": [1, "string"]},
    }
    own = {"dev.polyplane.toys.v1": {"Widget": "size 1 string"}}
    assert json.loads(facts.protobuf_fields(messages, own)) == {
        "api.core.v1": {
            "ConfigMap": "metadata 1 apimachinery.pkg.apis.meta.v1.ObjectMeta,"
            "data 2 %string,items 3 *.Part",
            "Part": "name 1 string",
        },
        **own,
    }
