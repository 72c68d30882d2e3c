"""Bad values as kube-apiserver's internal Go types print."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiserver.kinds.common import internal, selectors
from apiserver.kinds.common.jsondiff import go_diff


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("core.v1.EventSource", {}, '{"Component":"","Host":""}'),
        ("core.v1.Taint", {"key": "a"}, '{"Key":"a","Value":"","Effect":"","TimeAdded":null}'),
        (  # numbers that are pointers in the versioned type only
            "apps.v1.StatefulSetUpdateStrategy",
            {"type": "x", "rollingUpdate": {}},
            '{"Type":"x","RollingUpdate":{"Partition":0,"MaxUnavailable":null}}',
        ),
        (  # types of apimachinery keep the names that clients know, and leave out what is empty
            "policy.v1.PodDisruptionBudgetSpec",
            {"selector": {"matchExpressions": [], "matchLabels": {"b": "1", "a": "2"}}},
            '{"MinAvailable":null,"Selector":{"matchLabels":{"a":"2","b":"1"}},'
            '"MaxUnavailable":null,"UnhealthyPodEvictionPolicy":null}',
        ),
        ("core.v1.ObjectReference", None, "null"),
    ],
)
def test_struct(name: str, value: Any, text: str) -> None:
    assert internal.quote(name, value) == text


def test_html_is_escaped_as_gos_encoder_does() -> None:
    assert '"Host":"\\u003ca\\u003e"' in internal.quote("core.v1.EventSource", {"host": "<a>"})


def test_metadata_stands_among_the_members() -> None:
    template = json.loads(
        internal.quote("core.v1.PodTemplateSpec", {"metadata": {"labels": {"a": "b"}}})
    )
    assert list(template) == ["labels", "Spec"]


def test_what_a_pod_says_of_its_host_is_in_its_security_context() -> None:
    spec = internal.plain("core.v1.PodSpec", {"hostUsers": False, "hostNetwork": True})
    assert "HostNetwork" not in spec
    context = spec["SecurityContext"]
    assert list(context)[:5] == [
        "HostNetwork",
        "HostPID",
        "HostIPC",
        "ShareProcessNamespace",
        "HostUsers",
    ]
    assert [context[m] for m in list(context)[:5]] == [True, False, False, None, False]
    assert list(spec)[:4] == ["Volumes", "InitContainers", "Containers", "EphemeralContainers"]


def test_a_selector_shows_labels_first() -> None:
    selector = {"matchExpressions": [{"operator": "In", "key": "k"}], "matchLabels": {"a": "b"}}
    assert selectors.quoted(selector) == (
        '{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"k","operator":"In"}]}'
    )


def test_a_diff_has_three_lines_of_context() -> None:
    old = internal.plain("core.v1.ObjectReference", {"name": "a"})
    new = internal.plain("core.v1.ObjectReference", {"name": "<b>"})
    assert go_diff(old, new) == (
        '@@ -1,7 +1,7 @@\n {\n  "Kind": "",\n  "Namespace": "",\n- "Name": "a",\n'
        '+ "Name": "\\u003cb\\u003e",\n  "UID": "",\n  "APIVersion": "",\n'
        '  "ResourceVersion": "",\n'
    )
