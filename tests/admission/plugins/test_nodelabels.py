"""PodTopologyLabels and NodeDeclaredFeatureValidator: what nodes say decides about their pods."""

from __future__ import annotations

from typing import Any

import pytest

from admission.plugins.nodefeatures import NODES, NodeDeclaredFeatureValidator
from admission.plugins.podtopologylabels import PodTopologyLabels
from apiserver.meta import features
from apiserver.meta.objects import Object
from tests.support.plugins import World, asked, refusal, run

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def world(*declared: str) -> World:
    labels = {ZONE: "z", REGION: "r", "other": "o"}
    node = {
        "metadata": {"name": "n", "labels": labels},
        "status": {"declaredFeatures": [*declared]},
    }
    return World().put(NODES, node)


def pod(node: str = "n", **labels: str) -> Object:
    return {"metadata": {"name": "p", "labels": labels}, "spec": {"nodeName": node}}


@pytest.mark.parametrize(
    ("obj", "subresource", "expected"),
    [
        (pod(), "", {ZONE: "z", REGION: "r"}),
        (pod(**{ZONE: "own"}), "", {ZONE: "own", REGION: "r"}),
        (pod("gone"), "", {}),
        (pod(""), "", {}),
        ({"metadata": {"labels": {}}, "target": {"kind": "Node", "name": "n"}}, "binding", None),
        ({"metadata": {"labels": {}}, "target": {"kind": "Rack", "name": "n"}}, "binding", {}),
        (pod(), "eviction", {}),
    ],
)
async def test_pods_have_the_zone_of_their_node(
    obj: Object, subresource: str, expected: Object | None
) -> None:
    made = await run(PodTopologyLabels(), asked(obj, subresource=subresource), world())
    assert made is not None
    assert made["metadata"]["labels"] == (
        expected if expected is not None else {ZONE: "z", REGION: "r"}
    )


async def test_without_the_gate_no_label_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.ENABLED, "PodTopologyLabelsAdmission", False)
    assert not PodTopologyLabels().handles(asked(pod()))


async def test_pods_that_are_bound_later_keep_their_labels() -> None:
    assert not PodTopologyLabels().handles(asked(pod(), pod("")))


def sized(cpu: str, generation: int, qos: str = "Guaranteed", **spec: Any) -> Object:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": "p", "generation": generation},
        "spec": {"nodeName": "n", "containers": [container], **spec},
        "status": {"qosClass": qos},
    }


CPU, POD = "GuaranteedQoSPodCPUResize", "InPlacePodLevelResourcesVerticalScaling"
LARGER = {"requests": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("new", "old", "declared", "missing"),
    [
        (sized("2", 2), sized("1", 1), [], CPU),
        (sized("2", 2), sized("1", 1), [CPU], ""),
        (sized("1000m", 2), sized("1", 1), [], ""),
        (sized("2", 1), sized("1", 1), [], ""),
        (sized("2", 2), sized("1", 1, "Burstable"), [], ""),
        (sized("1", 2, resources=LARGER), sized("1", 1), [], POD),
        (sized("2", 2, resources=LARGER), sized("1", 1), [], f"{CPU}, {POD}"),
        (sized("2", 2, resources=LARGER), sized("1", 1), [CPU], POD),
        (sized("2", 2, nodeName=""), sized("1", 1), [], ""),
    ],
)
async def test_a_resize_needs_what_the_node_declares(
    new: Object, old: Object, declared: list[str], missing: str
) -> None:
    request = asked(new, old, subresource="resize")
    if not missing:
        await run(NodeDeclaredFeatureValidator(), request, world(*declared))
        return
    error = await refusal(NodeDeclaredFeatureValidator(), request, world(*declared))
    assert error.message == (
        f'pods "p" is forbidden: pod update requires features {missing} which are not available '
        'on node "n"'
    )


async def test_a_resize_needs_the_node() -> None:
    request = asked(sized("2", 2), sized("1", 1), subresource="resize")
    error = await refusal(NodeDeclaredFeatureValidator(), request, World())
    assert error.message == 'pods "p" is forbidden: node "n" not found'
