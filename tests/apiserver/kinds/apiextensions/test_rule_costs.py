"""The cost limit of single rules, asked again when a definition changes."""

from __future__ import annotations

from typing import Any

from tests.support import kindtools

DEAR = "self.all(a, self.all(b, self.all(c, a + b + c != '')))"


def definition(*versions: tuple[str, str]) -> dict[str, Any]:
    """A definition whose versions have a list of texts and a rule over it."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "shelves.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Cluster",
            "names": {"plural": "shelves", "singular": "shelf", "kind": "Shelf"},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": not i,
                    "schema": {"openAPIV3Schema": _schema(rule)},
                }
                for i, (name, rule) in enumerate(versions)
            ],
        },
        "status": {"storedVersions": [versions[0][0]]},
    }


def _schema(rule: str) -> dict[str, Any]:
    books = {
        "type": "array",
        "maxItems": 200,
        "items": {"type": "string", "maxLength": 20},
        "x-kubernetes-validations": [{"rule": rule}],
    }
    return {"type": "object", "properties": {"books": books}}


def too_dear(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    before = kindtools.typed(old)
    errors = kindtools.update(new, before).errors
    return [e.path for e in errors if e.detail.startswith("estimated rule cost exceeds")]


RULE = "schema.openAPIV3Schema.properties[books].x-kubernetes-validations[0].rule"


def test_a_new_rule_may_not_be_dear() -> None:
    assert too_dear(definition(("v1", DEAR)), definition(("v1", "true"))) == [
        f"spec.validation.{RULE.removeprefix('schema.')}"
    ]


def test_a_version_that_stays_may_be() -> None:
    stored = definition(("v1", DEAR), ("v2", "true"))
    assert too_dear(definition(("v1", DEAR), ("v2", "size(self) > 0")), stored) == []
    assert too_dear(definition(("v1", "true"), ("v2", DEAR)), stored) == [
        f"spec.versions[1].{RULE}"
    ]


def test_of_a_schema_that_all_versions_share_the_first_version_decides() -> None:
    stored = definition(("v1", DEAR), ("v2", "true"))
    assert too_dear(definition(("v1", DEAR), ("v2", DEAR)), stored) == []
    assert too_dear(definition(("v2", DEAR), ("v1", DEAR)), stored) == [
        f"spec.validation.{RULE.removeprefix('schema.')}"
    ]
