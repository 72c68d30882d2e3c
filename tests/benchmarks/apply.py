"""``python -m tests.benchmarks.apply``: what field management costs in one process, without server
or storage.

Each line is processor time of one call beside that of an orjson round trip of the live object
(loads and dumps), the least that any server does with it: the ratio says the same on every machine.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from apiserver.fieldmanager import reset
from apiserver.fieldmanager.manager import FieldManager
from apiserver.meta.gvk import GroupResource, GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.schema.builtin import schema_for

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUNS, CALLS = 20, 5


@dataclass(frozen=True, slots=True)
class Line:
    """cost and round_trip: microseconds of processor time; size: bytes of the live object."""

    name: str
    size: int
    cost: float
    round_trip: float

    @property
    def ratio(self) -> float:
        return self.cost / self.round_trip


class Kind:
    """One kind's field manager, with the object that it works on."""

    def __init__(self, group: str, version: str, kind: str, resource: str, first: Object) -> None:
        self.version = f"{group}/{version}" if group else version
        schema = schema_for(GroupVersionKind(group, version, kind))
        filters = reset.built_in(
            GroupResource(group, resource), [self.version], ["status"] if group else []
        )
        self.manager = FieldManager(
            kind, lambda v: schema if v == self.version else None, lambda o, _: o, filters
        )
        head = {"apiVersion": self.version, "kind": kind}
        self.live = self.apply({**head, "metadata": {"name": "x"}}, {**head, **first}, "creator")
        self.live["metadata"]["uid"] = "u"
        self.head = head

    def apply(self, live: Object, intent: Object, manager: str) -> Object:
        return self.manager.apply(
            live, intent, manager, force=True, api_version=self.version, now=NOW
        )

    def update(self, new: Object) -> Object:
        return self.manager.update(self.live, new, "updater", api_version=self.version, now=NOW)


def microseconds(call: Callable[[], Any]) -> float:
    """The best of several runs, so that neighbours on the machine count little."""
    call()
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time_ns()
        for _ in range(CALLS):
            call()
        best = min(best, (time.process_time_ns() - start) / CALLS)
    return best / 1000


def measured(name: str, live: Object, call: Callable[[], Any]) -> Line:
    data = orjson.dumps(live)
    return Line(
        name, len(data), microseconds(call), microseconds(lambda: orjson.dumps(orjson.loads(data)))
    )


def config_map() -> Iterator[Line]:
    data = {f"key-{i}": f"value {i}" for i in range(20)}
    kind = Kind("", "v1", "ConfigMap", "configmaps", {"metadata": {"name": "x"}, "data": data})
    intent = {**kind.head, "metadata": {"name": "x"}, "data": {"a": "1", "b": "1", "c": "1"}}
    applied = kind.apply(kind.live, intent, "other")
    yield measured(
        "3 fields into a ConfigMap of 20", kind.live, lambda: kind.apply(kind.live, intent, "other")
    )
    yield measured(
        "the same again: nothing changes", applied, lambda: kind.apply(applied, intent, "other")
    )
    changed = {**kind.live, "data": {**data, "key-1": "changed"}}
    yield measured("update of one field", kind.live, lambda: kind.update(changed))


def deployment() -> Iterator[Line]:
    kind = Kind("apps", "v1", "Deployment", "deployments", _deployment())
    intent: Object = {**kind.head, **_deployment()}
    small = {**kind.head, "metadata": {"name": "x"}, "spec": {"replicas": 5}}
    yield measured(
        "replicas into a Deployment of 8 KiB",
        kind.live,
        lambda: kind.apply(kind.live, small, "scaler"),
    )
    yield measured(
        "a whole Deployment: nothing changes",
        kind.live,
        lambda: kind.apply(kind.live, intent, "creator"),
    )
    newer = copy.deepcopy(intent)
    newer["spec"]["template"]["spec"]["containers"][0]["image"] = (
        "registry.example.com/team/app-0:1.2.4"
    )
    yield measured(
        "a whole Deployment with another image",
        kind.live,
        lambda: kind.apply(kind.live, newer, "creator"),
    )
    yield measured(
        "a whole Deployment by another manager",
        kind.live,
        lambda: kind.apply(kind.live, intent, "other"),
    )
    changed = {**kind.live, "spec": newer["spec"]}
    yield measured("update of one image", kind.live, lambda: kind.update(changed))


def _deployment() -> Object:
    containers = [
        {
            "name": f"c{i}",
            "image": f"registry.example.com/team/app-{i}:1.2.3",
            "ports": [{"containerPort": 8080 + i, "name": "http", "protocol": "TCP"}],
            "env": [{"name": f"VARIABLE_{j}", "value": f"the value number {j}"} for j in range(20)],
            "resources": {
                "limits": {"cpu": "500m", "memory": "256Mi"},
                "requests": {"cpu": "100m", "memory": "128Mi"},
            },
            "volumeMounts": [
                {"name": "data", "mountPath": f"/data{i}"},
                {"name": "cfg", "mountPath": f"/cfg{i}"},
            ],
        }
        for i in range(5)
    ]
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": containers, "volumes": [{"name": "data", "emptyDir": {}}]},
    }
    return {
        "metadata": {"name": "x"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


def main() -> None:
    print(f"{'what':<42}{'live bytes':>12}{'CPU µs':>10}{'round trip µs':>16}{'ratio':>9}")
    for line in (*config_map(), *deployment()):
        print(
            f"{line.name:<42}{line.size:>12,}{line.cost:>10,.0f}{line.round_trip:>16,.1f}{line.ratio:>9,.1f}"
        )


if __name__ == "__main__":
    main()
