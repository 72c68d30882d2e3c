from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver.kinds.common.alike import alike
from tests.support.kindtools import create, update, workload


def container(**members: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", **members}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            {"resources": {"limits": {"cpu": "1"}}},
            {"resources": {"limits": {"cpu": "1000m"}}},
            True,
        ),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"cpu": "2"}}}, False),
        ({"resources": {"limits": {}}}, {}, True),
        ({"args": []}, {}, True),
        ({"args": ["a"]}, {"args": ["b"]}, False),
        ({"workingDir": ""}, {}, True),
        ({"securityContext": {}}, {}, False),
        ({"securityContext": {"runAsUser": 0}}, {"securityContext": {}}, False),
        ({"securityContext": {"privileged": False}}, {"securityContext": {}}, False),
        ({"tty": False}, {}, True),
    ],
)
def test_what_go_takes_for_the_same(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert alike("core.v1.Container", container(**one), container(**other)) is same
    assert alike("core.v1.Container", container(**other), container(**one)) is same


def test_what_may_not_change_may_be_spelt_in_another_way() -> None:
    spec = {"restartPolicy": "Never", "containers": [container(resources={"limits": {"cpu": "2"}})]}
    job = create(workload("Job", "batch/v1", spec, selector=None)).obj
    new = copy.deepcopy(job)
    new["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "2000m"}
    assert update(new, job).messages == []
    claim = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    template = {"metadata": {"name": "v"}, "spec": claim}
    stateful = create(workload("StatefulSet", volumeClaimTemplates=[template])).obj
    new = copy.deepcopy(stateful)
    requests = new["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]
    requests["storage"] = "1073741824"
    assert update(new, stateful).messages == []
    requests["storage"] = "2Gi"
    assert "are forbidden" in update(new, stateful).messages[0]
