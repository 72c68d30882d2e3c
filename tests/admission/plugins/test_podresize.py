"""PodResizeValidator: what a node is like decides how its pods may grow."""

from __future__ import annotations

from typing import Any

import pytest

from admission.plugins.podresize import NODES, PodResizeValidator
from apiserver.meta.objects import Object
from tests.support.plugins import World, asked, refusal, run

SHORT = 'pods "p" is forbidden: node didn\'t have enough allocatable resources: '


def world(system: str | None = "linux", **allocatable: str) -> World:
    labels = {} if system is None else {"kubernetes.io/os": system}
    status = {"allocatable": allocatable} if allocatable else {}
    return World().put(NODES, {"metadata": {"name": "n", "labels": labels}, "status": status})


def container(**requests: str) -> Object:
    return {"name": "c", "resources": {"requests": requests}}


def pod(*containers: Object, generation: int = 2, node: str = "n", **spec: Any) -> Object:
    return {
        "metadata": {"name": "p", "generation": generation},
        "spec": {"nodeName": node, "containers": [*containers], **spec},
    }


OLD = pod(container(cpu="1", memory="1Gi"), generation=1)
FOUR = {"cpu": "4", "memory": "8Gi"}


@pytest.mark.parametrize(
    ("new", "allocatable", "lacking"),
    [
        (pod(container(cpu="4", memory="8Gi")), FOUR, ""),
        (pod(container(cpu="4001m")), FOUR, "cpu, requested: 4001, allocatable: 4000"),
        (
            pod(container(memory="8193Mi")),
            FOUR,
            "memory, requested: 8590983168, allocatable: 8589934592",
        ),
        (
            pod(container(cpu="10", memory="10Gi")),
            FOUR,
            "cpu, requested: 10000, allocatable: 4000; "
            "memory, requested: 10737418240, allocatable: 8589934592",
        ),
        (pod(container(cpu="3"), container(cpu="2")), FOUR, "cpu, requested: 5000, alloc"),
        (
            pod(container(cpu="1"), initContainers=[container(cpu="5")]),
            FOUR,
            "cpu, requested: 5000, alloc",
        ),
        (pod(container(cpu="4"), overhead={"cpu": "1m"}), FOUR, "cpu, requested: 4001, alloc"),
        (pod(container(cpu="10"), resources={"requests": {"cpu": "1"}}), FOUR, ""),
        (pod(container(cpu="1m")), {"memory": "1Gi"}, "cpu, requested: 1, allocatable: 0"),
        (pod(container(**{"example.com/gpu": "9"})), FOUR, ""),
        (pod(container(cpu="10"), generation=1), FOUR, ""),
        (pod(container(cpu="10"), node=""), FOUR, ""),
    ],
)
async def test_a_pod_asks_for_no_more_than_its_node_has(
    new: Object, allocatable: dict[str, str], lacking: str
) -> None:
    request, nodes = asked(new, OLD, subresource="resize"), world(**allocatable)
    if not lacking:
        await run(PodResizeValidator(), request, nodes)
        return
    error = await refusal(PodResizeValidator(), request, nodes)
    assert error.code == 403 and error.message.startswith(SHORT + lacking)
    assert error.details == {
        "name": "p",
        "kind": "pods",
        "causes": [{"reason": "NodeCapacity"}],
    }


@pytest.mark.parametrize(("system", "fits"), [("linux", True), (None, True), ("windows", False)])
async def test_nodes_with_linux_resize_pods(system: str | None, fits: bool) -> None:
    request, nodes = asked(pod(), OLD, subresource="resize"), world(system, **FOUR)
    if fits:
        await run(PodResizeValidator(), request, nodes)
        return
    error = await refusal(PodResizeValidator(), request, nodes)
    assert error.message == (
        'pods "p" is forbidden: pod resize is only supported on linux nodes, node "n" is "windows"'
    )
    assert (error.details or {})["causes"] == [{"reason": "UnsupportedPlatform"}]


async def test_a_resize_needs_the_node() -> None:
    error = await refusal(PodResizeValidator(), asked(pod(), OLD, subresource="resize"), World())
    assert error.message == 'pods "p" is forbidden: node "n" not found'
    assert "causes" not in (error.details or {})


async def test_only_resizes_are_looked_at() -> None:
    plugin, new = PodResizeValidator(), pod(container(cpu="10"))
    assert plugin.handles(asked(new, OLD, subresource="resize"))
    assert not any(plugin.handles(asked(new, OLD, subresource=s)) for s in ("", "status"))
    assert not plugin.handles(asked(new, subresource="resize"))
