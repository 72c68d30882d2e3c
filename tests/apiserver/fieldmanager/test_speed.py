"""What field management may cost, in CPU time of one call: it runs on every write."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

from apiserver.fieldmanager import reset
from apiserver.fieldmanager.manager import FieldManager
from apiserver.meta.gvk import GroupResource, GroupVersionKind
from apiserver.schema.builtin import schema_for
from apiserver.schema.decode import decode

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def milliseconds(call: Callable[[], Any]) -> float:
    """The best of several runs, so that neighbours on the machine count little."""
    call()
    best = float("inf")
    for _ in range(15):
        start = time.process_time()
        for _ in range(4):
            call()
        best = min(best, (time.process_time() - start) / 4)
    return best * 1000


def manager(group: str, version: str, kind: str, resource: str) -> tuple[FieldManager, Any, str]:
    api_version = f"{group}/{version}" if group else version
    schema = schema_for(GroupVersionKind(group, version, kind))
    filters = reset.built_in(GroupResource(group, resource), [api_version], ["status"] if group else [])
    return FieldManager(kind, lambda v: schema if v == api_version else None, lambda o, _: o, filters), schema, api_version


def deployment() -> dict[str, Any]:
    containers = [
        {
            "name": f"c{i}",
            "image": f"registry.example.com/team/app-{i}:1.2.3",
            "ports": [{"containerPort": 8080 + i, "name": "http"}],
            "env": [{"name": f"VARIABLE_{j}", "value": f"the value number {j}"} for j in range(20)],
            "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080 + i}, "periodSeconds": 10},
            "volumeMounts": [{"name": "data", "mountPath": f"/data{i}"}, {"name": "cfg", "mountPath": f"/cfg{i}"}],
        }
        for i in range(5)
    ]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers, "volumes": [{"name": "data", "emptyDir": {}}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def test_a_small_intent_on_a_small_object() -> None:
    fields, _, version = manager("", "v1", "ConfigMap", "configmaps")
    intent = {"apiVersion": version, "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"l": "1"}}, "data": {"a": "1", "b": "1"}}
    live = {"apiVersion": version, "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {f"k{i}": "v" for i in range(18)}}
    live = fields.update(None, live, "creator", api_version=version, now=NOW)
    live["metadata"]["uid"] = "u"
    applied = fields.apply(live, intent, "a", force=False, api_version=version, now=NOW)
    changed = {**applied, "data": {**applied["data"], "k3": "w"}}
    assert milliseconds(lambda: fields.apply(live, intent, "a", force=False, api_version=version, now=NOW)) < 1
    assert milliseconds(lambda: fields.apply(applied, intent, "a", force=False, api_version=version, now=NOW)) < 1
    assert milliseconds(lambda: fields.update(applied, changed, "u", api_version=version, now=NOW)) < 1
    assert milliseconds(lambda: fields.update(applied, copy.copy(applied), "u", api_version=version, now=NOW)) < 0.5


def test_a_deployment_of_eight_kilobytes() -> None:
    fields, schema, version = manager("apps", "v1", "Deployment", "deployments")
    intent = deployment()
    assert 7_000 < len(orjson.dumps(intent)) < 9_000
    live = fields.apply(None, intent, "a", force=False, api_version=version, now=NOW)
    live["metadata"]["uid"] = "u"
    live = decode(schema, live).value
    less = copy.deepcopy(intent)
    del less["spec"]["template"]["spec"]["containers"][0]["env"][0]
    scaled = {**live, "spec": {**live["spec"], "replicas": 5}}
    assert milliseconds(lambda: fields.apply(live, intent, "a", force=False, api_version=version, now=NOW)) < 4
    assert milliseconds(lambda: fields.apply(live, less, "a", force=False, api_version=version, now=NOW)) < 4
    assert milliseconds(lambda: fields.update(live, scaled, "u", api_version=version, now=NOW)) < 4
