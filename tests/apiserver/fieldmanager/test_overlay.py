"""Configurations of mutating policies."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.fieldmanager.overlay import overlay
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import schema_for

POD = schema_for(GroupVersionKind("", "v1", "Pod"))


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "1"}}, "spec": spec}


def test_it_is_laid_over_the_object_which_stays_as_it_was() -> None:
    original = pod(containers=[{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}])
    made = overlay(POD, original, {"metadata": {"labels": {"b": "2"}}, "spec": {"containers": [{"name": "c", "env": [{"name": "B"}]}]}})
    assert made["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert made["spec"]["containers"] == [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "B"}]}]
    assert original == pod(containers=[{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}])


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        (
            {"spec": {"nodeSelector": {"a": "b"}, "containers": [{"name": "c", "command": ["x"]}]}},
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.nodeSelector, .spec.containers[0].command",
        ),
        ({"spec": {"nope": 1}}, "failed to convert patch object to typed object: .spec.nope: field not declared in schema"),
        (
            {"spec": {"containers": [{"name": "c"}, {"name": "c"}]}},
            'failed to convert patch object to typed object: .spec.containers: duplicate entries for key [name="c"]',
        ),
    ],
)
def test_refusals(configuration: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as error:
        overlay(POD, pod(), configuration)
    assert str(error.value) == text
