"""Lists that hold equal items, on a kind whose containers and ports are such lists.

Behaviour: kubernetes ``test/integration/apiserver/apply`` (duplicates in associative lists).
"""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.catalog import resources
from apiserver.meta.gvk import GroupResource
from tests.support.kindtools import typed, workload

NOW = datetime(2026, 1, 1, tzinfo=UTC)
APPS = "apps/v1"
SCHEMA = resources()[GroupResource("apps", "daemonsets")].versions["v1"].schema
MANAGER = FieldManager(
    "DaemonSet", lambda v: SCHEMA if v == APPS else None, lambda o, v: {**o, "apiVersion": v}
)
PORT_1 = 'k:{"containerPort":1,"protocol":"TCP"}'
PORT_80 = 'k:{"containerPort":80,"protocol":"TCP"}'


def daemon_set(ports: list[tuple[str, int]], env: list[tuple[str, str]]) -> dict[str, Any]:
    made = workload("DaemonSet")
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": name, "containerPort": port} for name, port in ports]
    container["env"] = [{"name": name, "value": value} for name, value in env]
    return made


def written(live: dict[str, Any] | None, obj: dict[str, Any], name: str) -> dict[str, Any]:
    made = MANAGER.update(live, typed(obj), name, api_version=APPS, now=NOW)
    return {**made, "metadata": {**made["metadata"], "uid": "u"}}


def container_of(obj: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = obj["spec"]["template"]["spec"]["containers"][0]
    return found


def owned_container(obj: dict[str, Any], name: str) -> dict[str, Any]:
    [entry] = [e for e in obj["metadata"]["managedFields"] if e["manager"] == name]
    fields = (
        entry["fieldsV1"]
        .get("f:spec", {})
        .get("f:template", {})
        .get("f:spec", {})
        .get("f:containers", {})
    )
    [found] = fields.values() or [{}]
    return dict(found)


CREATED = written(
    None,
    daemon_set(
        [("p0", 1), ("p1", 80), ("p2", 80)], [("ENV0", "v"), ("PATH", "/bin"), ("PATH", "$PATH:/x")]
    ),
    "create",
)


def intent(port: tuple[str, int], env: tuple[str, str]) -> dict[str, Any]:
    made = daemon_set([port], [env])
    del made["spec"]["template"]["metadata"]
    return made


def test_equal_items_are_owned_together_without_what_is_in_them() -> None:
    mine = owned_container(CREATED, "create")
    assert mine["f:env"] == {
        ".": {},
        'k:{"name":"ENV0"}': {".": {}, "f:name": {}, "f:value": {}},
        'k:{"name":"PATH"}': {},
    }
    assert mine["f:ports"] == {
        ".": {},
        PORT_1: {".": {}, "f:containerPort": {}, "f:name": {}, "f:protocol": {}},
        PORT_80: {},
    }


def test_applying_another_item_leaves_equal_ones_alone() -> None:
    found = MANAGER.apply(
        CREATED,
        intent(("p3", 443), ("HOME", "/h")),
        "apply",
        force=False,
        api_version=APPS,
        now=NOW,
    )
    assert [p["name"] for p in container_of(found)["ports"]] == ["p0", "p1", "p2", "p3"]
    assert [e["name"] for e in container_of(found)["env"]] == ["ENV0", "PATH", "PATH", "HOME"]
    assert owned_container(found, "create") == owned_container(CREATED, "create")


def test_who_changes_one_of_equal_items_owns_them_all() -> None:
    new = copy.deepcopy(CREATED)
    container_of(new)["env"][2]["value"] = "$PATH:/y"
    found = written(CREATED, new, "update")
    assert owned_container(found, "update") == {"f:env": {'k:{"name":"PATH"}': {}}}
    assert 'k:{"name":"PATH"}' not in owned_container(found, "create")["f:env"]


def test_applying_one_of_equal_items_by_force_replaces_them_all() -> None:
    found = MANAGER.apply(
        CREATED, intent(("web", 80), ("PATH", "/z")), "apply", force=True, api_version=APPS, now=NOW
    )
    assert [(e["name"], e["value"]) for e in container_of(found)["env"]] == [
        ("ENV0", "v"),
        ("PATH", "/z"),
    ]
    assert [p["name"] for p in container_of(found)["ports"]] == ["p0", "web"]
    assert PORT_80 not in owned_container(found, "create")["f:ports"]
    assert owned_container(found, "apply")["f:ports"] == {
        PORT_80: {".": {}, "f:containerPort": {}, "f:name": {}}
    }


def test_who_leaves_the_generation_out_owns_it() -> None:
    """The conversion of daemon sets writes their annotation, with 0 where a client has none."""
    [entry] = CREATED["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:metadata"]["f:annotations"] == {
        ".": {},
        "f:deprecated.daemonset.template.generation": {},
    }


def test_a_key_that_the_go_type_defaults_to_empty_may_be_left_out() -> None:
    """LocalObjectReference.name is ``+default=""``, so a pull secret without name is the one of the
    empty name, not one without a key."""
    made = daemon_set([("p0", 1)], [])
    made["spec"]["template"]["spec"]["imagePullSecrets"] = [{}, {"name": "other"}]
    applied = MANAGER.apply(CREATED, made, "me", force=True, api_version=APPS, now=NOW)
    [entry] = [e for e in applied["metadata"]["managedFields"] if e["manager"] == "me"]
    owned = entry["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:imagePullSecrets"]
    assert owned == {'k:{"name":""}': {}, 'k:{"name":"other"}': {}}
