from __future__ import annotations

from datetime import UTC, datetime

import pytest

from apiserver.kinds.base import WriteContext
from apiserver.kinds.core.limitrange import LimitRange
from apiserver.kinds.core.resourcequota import ResourceQuota
from apiserver.meta.objects import Object

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = WriteContext("v1", NOW)


def limits(*items: Object) -> Object:
    obj: Object = {"metadata": {"name": "l"}, "spec": {"limits": list(items)}}
    LimitRange().default(obj, "v1")
    return obj


def test_the_default_request_is_the_limit_and_else_the_minimum() -> None:
    (item,) = limits(
        {"type": "Container", "min": {"cpu": "1", "memory": "1Mi"}, "max": {"cpu": "2"}}
    )["spec"]["limits"]
    assert item["default"] == {"cpu": "2"} and item["defaultRequest"] == {
        "cpu": "2",
        "memory": "1Mi",
    }


@pytest.mark.parametrize(
    ("item", "errors"),
    [
        (  # of what is beyond Go's numbers the lowest bits count
            {
                "type": "Pod",
                "min": {"cpu": "1"},
                "max": {"cpu": "1e400"},
                "maxLimitRequestRatio": {"cpu": "4"},
            },
            [
                'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "4": ratio 4 is greater '
                "than max/min = 0.000000"
            ],
        ),
        (
            {
                "type": "Pod",
                "min": {"cpu": "1"},
                "max": {"cpu": "3"},
                "maxLimitRequestRatio": {"cpu": "4"},
            },
            [
                'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "4": ratio 4 is greater '
                "than max/min = 3.000000"
            ],
        ),
        (
            {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}},
            [
                'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 '
                "is greater than default limit value 1"
            ],
        ),
        (
            {
                "type": "Container",
                "default": {"hugepages-2Mi": "4Mi"},
                "defaultRequest": {"hugepages-2Mi": "2Mi"},
            },
            [
                'spec.limits[0].defaultRequest[hugepages-2Mi]: Invalid value: "2Mi": '
                "default value 4Mi must equal to defaultRequest value 2Mi in hugepages-2Mi"
            ],
        ),
        (
            {"type": "Disk", "max": {"cpu": "1"}},
            [
                'spec.limits[0].type: Invalid value: "Disk": must be a standard limit type or '
                "fully qualified"
            ],
        ),
        ({"type": "example.com/Disk", "max": {"cpu": "1"}}, []),
    ],
)
def test_bounds_that_make_no_sense(item: Object, errors: list[str]) -> None:
    assert [str(e) for e in LimitRange().validate(limits(item), CONTEXT)] == errors


def test_the_quota_columns_tell_requests_from_limits() -> None:
    status = {
        "hard": {"limits.cpu": "2", "pods": "10", "requests.cpu": "1"},
        "used": {"limits.cpu": "500m", "pods": "3"},
    }
    obj: Object = {
        "metadata": {"name": "q", "creationTimestamp": "2025-12-31T23:58:00Z"},
        "status": status,
    }
    assert ResourceQuota().cells(obj, "v1", NOW) == [
        "q",
        "pods: 3/10, requests.cpu: 0/1",
        "limits.cpu: 500m/2",
        "2m",
    ]
