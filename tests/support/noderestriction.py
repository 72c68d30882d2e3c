"""Requests of a node, and what NodeRestriction says of them."""

from __future__ import annotations

from typing import Any

from admission.attributes import Attributes
from admission.nodes.mirrorpods import MIRROR
from admission.plugins.noderestriction import NODES, NodeRestriction
from apiserver.meta.objects import Object
from apiserver.user import User
from tests.support.plugins import PODS, Rights, World, asked, run

NODE = User("system:node:mine", groups=("system:nodes",))
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "mine", "uid": "n-1", "controller": True}


def pod(node: str = "mine", name: str = "p", **spec: Any) -> Object:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"u-{name}"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": node, **spec},
    }


def mirror(owner: Object | None = None, *more: Object, node: str = "mine", **spec: Any) -> Object:
    obj = pod(node, **spec)
    obj["metadata"]["annotations"] = {MIRROR: "x"}
    obj["metadata"]["ownerReferences"] = [OWNER if owner is None else owner, *more]
    return obj


def world() -> World:
    """Node ``mine`` with a pod, and a pod of another node."""
    node = World().put(NODES, {"metadata": {"name": "mine", "uid": "n-1"}})
    return node.put(PODS, pod()).put(PODS, pod("other", "theirs"))


async def told(request: Attributes, *rights: str, around: World | None = None) -> str:
    """What is said of a request that is refused, "" for one that is not."""
    try:
        await run(NodeRestriction(Rights(*rights)), request, around or world())
    except Exception as error:
        return str(error).partition("forbidden: ")[2] or str(error)
    return ""


def by_node(obj: Object | None, old: Object | None = None, **more: Any) -> Attributes:
    return asked(obj, old, user=more.pop("user", NODE), **more)
