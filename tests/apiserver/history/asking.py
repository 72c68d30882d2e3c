"""The paths of the history's API, and objects to have one."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.support.api import Api

ROOT = "/apis/history.polyplane.dev/v1"
SHOP = f"{ROOT}/namespaces/shop/revisions"
CLUSTER = f"{ROOT}/clusterrevisions"
CONFIG_MAPS = "/api/v1/namespaces/shop/configmaps"
SECRETS = "/api/v1/namespaces/shop/secrets"


def config_map(name: str = "web", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def selecting(path: str, labels: str = "", **fields: str) -> str:
    """A list with a field selector; ``resource`` is object.resource, and so on."""
    own = {name if name in ("type", "asOf") else f"object.{name}": v for name, v in fields.items()}
    text = ",".join(f"{name}={value}" for name, value in own.items())
    return f"{path}?fieldSelector={quote(text)}&labelSelector={quote(labels)}"


async def listed(api: Api, path: str, after: str = "", **headers: str) -> list[dict[str, Any]]:
    """All items, page by page; ``after``: a token to begin with."""
    items, token = [], after
    while True:
        mark = "&" if "?" in path else "?"
        page = await api.ok("GET", f"{path}{mark}continue={token}", **headers)
        items += page["items"]
        token = page["metadata"].get("continue", "")
        if not token:
            return items


async def three_versions(api: Api) -> list[str]:
    """resourceVersions of a ConfigMap "web" with data a=1, a=2, a=2 and b=1."""
    versions = []
    first = await api.ok("POST", f"{CONFIG_MAPS}?fieldManager=one", config_map(a="1"))
    versions.append(first["metadata"]["resourceVersion"])
    for data, manager in ({"a": "2"}, "two"), ({"b": "1"}, "three"):
        _, changed = await api.patch(f"{CONFIG_MAPS}/web", {"data": data}, fieldManager=manager)
        versions.append(changed["metadata"]["resourceVersion"])
    return versions
