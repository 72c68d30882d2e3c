"""What differs between two revisions."""

from __future__ import annotations

from typing import Any

from tests.apiserver.history.asking import (
    CONFIG_MAPS,
    SHOP,
    config_map,
    listed,
    three_versions,
)
from tests.support.api import Api

SERVICES = "/api/v1/namespaces/shop/services"


async def test_a_revision_with_what_it_replaced_and_with_any_other(api: Api) -> None:
    one, two, three = await three_versions(api)
    before = await api.ok("GET", f"{SHOP}/{three}/diff")
    assert (before["from"], before["to"]) == (two, three)
    assert before["changes"] == [{"path": ".data.b", "type": "added", "to": "1"}]
    whole = await api.ok("GET", f"{SHOP}/{one}/diff?from={three}")
    assert whole["changes"] == [
        {"path": ".data.a", "type": "modified", "from": "2", "to": "1"},
        {"path": ".data.b", "type": "removed", "from": "1"},
    ]
    assert (await api.ok("GET", f"{SHOP}/{one}/diff?from={one}"))["changes"] == []


async def test_the_first_revision_is_all_new(api: Api) -> None:
    one, *_ = await three_versions(api)
    found = await api.ok("GET", f"{SHOP}/{one}/diff")
    assert found["from"] == ""
    assert {change["type"] for change in found["changes"]} == {"added"}
    assert {"path": ".data.a", "type": "added", "to": "1"} in found["changes"]


async def test_items_of_lists_are_told_apart_by_their_keys(api: Api) -> None:
    def service(*ports: int) -> dict[str, Any]:
        made = [{"name": f"p{p}", "port": p} for p in ports]
        return {"metadata": {"name": "s"}, "spec": {"type": "ExternalName", "ports": made}}

    body = service(80, 81)
    body["spec"]["externalName"] = "example.org"
    await api.ok("POST", SERVICES, body)
    _, changed = await api.patch(f"{SERVICES}/s", {"spec": service(81, 82)["spec"]})
    found = await api.ok("GET", f"{SHOP}/{changed['metadata']['resourceVersion']}/diff")
    paths = {(c["type"], c["path"]) for c in found["changes"]}
    ports = ".spec.ports"
    assert ("added", f'{ports}[port=82,protocol="TCP"].port') in paths
    assert ("removed", f'{ports}[port=80,protocol="TCP"].port') in paths
    assert not [path for _, path in paths if "port=81" in path]


async def test_revisions_of_different_objects_are_not_compared(api: Api) -> None:
    one, *_ = await three_versions(api)
    made = await api.ok("POST", CONFIG_MAPS, config_map("other"))
    other = made["metadata"]["resourceVersion"]
    assert (await api("GET", f"{SHOP}/{other}/diff?from={one}"))[0] == 400
    assert (await api("GET", f"{SHOP}/{other}/diff?from=1"))[0] == 404


async def test_a_deleted_object_with_the_one_that_came_after_it(api: Api) -> None:
    await three_versions(api)
    await api.ok("DELETE", f"{CONFIG_MAPS}/web")
    gone = (await listed(api, SHOP))[0]["metadata"]["name"]
    made = await api.ok("POST", CONFIG_MAPS, config_map(a="2"))
    found = await api.ok("GET", f"{SHOP}/{made['metadata']['resourceVersion']}/diff?from={gone}")
    assert ".data.b" in {c["path"] for c in found["changes"]}
    assert ".metadata.uid" in {c["path"] for c in found["changes"]}
