"""What new StatefulSets are asked for beyond what stored ones were: service name, claim templates,
the pods' spec."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.kindtools import create, update

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric "
    "character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def stateful(**spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    body = {
        "selector": {"matchLabels": {"a": "b"}},
        "serviceName": "x",
        "template": template,
        **spec,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "st"},
        "spec": body,
    }


def mounting(*names: str, **pod: Any) -> dict[str, Any]:
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in names]
    spec = {"containers": [{"name": "c", "image": "i", "volumeMounts": mounts}], **pod}
    return {"metadata": {"labels": {"a": "b"}}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        ({}, []),
        ({"serviceName": "X.y"}, [f'spec.serviceName: Invalid value: "X.y": {LABEL}']),
        ({"revisionHistoryLimit": -1}, []),
        (
            {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
            [
                "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access "
                "mode is required",
                "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
            ],
        ),
        ({"template": mounting("data"), "volumeClaimTemplates": [CLAIM]}, []),
        (
            {
                "template": mounting("data", volumes=[{"name": "data", "emptyDir": {}}]),
                "volumeClaimTemplates": [CLAIM, CLAIM],
            },
            [],
        ),
        (
            {"template": mounting("other")},
            ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "other"'],
        ),
        (
            {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}},
            ["spec.template.spec.containers: Required value"],
        ),
    ],
)
def test_new_ones(spec: dict[str, Any], messages: list[str]) -> None:
    assert create(stateful(**spec)).messages == messages


def stored(**spec: Any) -> dict[str, Any]:
    return create(stateful(**spec)).obj


def test_the_template_of_a_right_one_stays_right() -> None:
    old = stored()
    new = copy.deepcopy(old)
    new["spec"]["template"]["spec"]["containers"][0]["image"] = ""
    assert update(new, old).messages == ["spec.template.spec.containers[0].image: Required value"]


def test_what_is_wrong_already_hinders_no_update() -> None:
    claims = [{"metadata": {"name": "data"}}]
    old = stored(serviceName="X.y", volumeClaimTemplates=claims, template={**mounting("nothing")})
    new = copy.deepcopy(old)
    new["spec"]["replicas"] = 3
    assert update(new, old).messages == []


def test_pods_are_named_by_the_set() -> None:
    wanted = stateful()
    wanted["spec"]["template"]["spec"] |= {"hostname": "Not A Label", "subdomain": "Nor This"}
    assert create(wanted).messages == []


def test_where_a_fraction_of_a_byte_is_asked_for() -> None:
    claim = copy.deepcopy(CLAIM)
    claim["spec"]["resources"]["requests"]["storage"] = "1500m"
    made = create(stateful(volumeClaimTemplates=[claim]))
    at = "spec.volumeClaimTemplates[0]"
    assert [w.partition(": ")[0] for w in made.warnings] == [f"{at}.resources.requests[storage]"]
    again = update(copy.deepcopy(made.obj), made.obj)
    assert [w.partition(": ")[0] for w in again.warnings] == [
        f"{at}.Spec.resources.requests[storage]"
    ]
