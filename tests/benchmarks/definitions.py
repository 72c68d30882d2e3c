"""CustomResourceDefinitions: how long the largest takes until its objects are served, and what
definitions cost a worker.

The definitions are those of ../shared/crds where that is there (the largest has 1.4 MB of YAML),
otherwise some of about the same size.
"""

from __future__ import annotations

import asyncio
import json
import time
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml

from apiserver.storage.interface import ObjectKey, Write
from apiserver.storage.postgres import PostgresStore
from tests.benchmarks.bench import Bench
from tests.benchmarks.client import Connection, request
from tests.benchmarks.processes import memory
from tests.benchmarks.result import Result
from tests.benchmarks.tenants import make

SHARED = Path(__file__).resolve().parents[3] / "shared" / "crds"
PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_TIMES = 3

Definition = dict[str, Any]


@cache
def definitions() -> list[Definition]:
    """Largest first."""
    found = list(_shared() or (_made_up(i, 400 >> i) for i in range(6)))
    return sorted(found, key=lambda crd: -len(json.dumps(crd)))


def _shared() -> list[Definition]:
    loader: Any = type("Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
    plain = {"tag:yaml.org,2002:value", "tag:yaml.org,2002:timestamp"}  # strings in Kubernetes
    known = loader.yaml_implicit_resolvers.items()
    loader.yaml_implicit_resolvers = {
        first: [r for r in resolvers if r[0] not in plain] for first, resolvers in known
    }
    read = (
        crd
        for path in sorted(SHARED.glob("*/*.yaml"))
        for crd in yaml.load_all(path.read_bytes(), loader)
    )
    return [crd for crd in read if crd and crd.get("kind") == "CustomResourceDefinition"]


def _made_up(number: int, groups: int) -> Definition:
    """A definition with ``groups`` groups of thirty fields."""
    field = {
        "type": "string",
        "description": "What this is for, in about as many words as people use.",
        "maxLength": 63,
    }
    members = {
        f"group{i}": {"type": "object", "properties": {f"field{j}": field for j in range(30)}}
        for i in range(groups)
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": members}}}
    names = {"plural": f"things{number}", "kind": f"Thing{number}"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.bench.example.com"},
        "spec": {
            "group": "bench.example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


async def created(bench: Bench, most: int = 1000) -> list[Result]:
    """The largest alone, the best of three; then all others one after the other, as kubectl applies
    them."""
    largest, *others = definitions()[:most]
    connection = await Connection.open(bench.site)
    try:
        times = []
        for _ in range(_TIMES):
            await _delete(bench, connection, largest)
            times.append(await _create(bench, connection, largest))
        began = time.perf_counter()
        for crd in others:
            await _create(bench, connection, crd)
        took = time.perf_counter() - began
    finally:
        connection.close()
    size = f"{len(json.dumps(largest)) / 1024:,.0f} KB"
    results = [
        Result("largest definition served after", min(times) * 1000, "ms", notes={"as JSON": size})
    ]
    if others:
        results.append(
            Result(
                "definitions one after the other",
                len(others) / took,
                "definitions/s",
                notes={"of them": len(others)},
            )
        )
    return results


async def _create(bench: Bench, connection: Connection, crd: Definition) -> float:
    """Seconds until a list of its objects is answered."""
    version = next(v["name"] for v in crd["spec"]["versions"] if v["served"])
    objects = request(
        bench.site,
        "GET",
        f"/clusters/demo/apis/{crd['spec']['group']}/{version}/{crd['spec']['names']['plural']}",
    )
    body = json.dumps(crd).encode()
    began = time.perf_counter()
    await connection.expect(request(bench.site, "POST", f"/clusters/demo{PATH}", body))
    while await connection.send(objects) != 200:  # noqa: ASYNC110  this is what a client can do
        await asyncio.sleep(0.002)
    return time.perf_counter() - began


async def _delete(bench: Bench, connection: Connection, crd: Definition) -> None:
    path = f"/clusters/demo{PATH}/{crd['metadata']['name']}"
    await connection.send(request(bench.site, "DELETE", path))
    # likewise
    while await connection.send(request(bench.site, "GET", path)) != 404:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def held(bench: Bench, tenants: int = 20, most: int = 1000) -> list[Result]:
    """Memory of a worker with all definitions in one tenant, and with the same in more of them."""
    await created(bench, 1)  # what the first definition of all brings along
    kept = [
        json.loads(
            await bench.send("GET", f"/clusters/demo{PATH}/{definitions()[0]['metadata']['name']}")
        )
    ]
    kept += [_established(crd, kept[0]) for crd in definitions()[1:most]]
    await make(bench, "defined", tenants)
    before = _memory(bench)
    await _fill(bench, kept, "defined-0")
    one = _memory(bench)
    for i in range(1, tenants):
        await _fill(bench, kept, f"defined-{i}")
    all_ = _memory(bench)
    size = sum(len(json.dumps(crd)) for crd in kept) / 2**20
    notes = {
        "definitions": len(kept),
        "as JSON": f"{size:.1f} MB",
        "first tenant": f"{one - before:.1f} MB",
    }
    if tenants > 1:
        notes["each other tenant"] = f"{(all_ - one) / (tenants - 1):.1f} MB"
    return [Result(f"worker with the definitions of {tenants} tenants", all_, "MB", notes=notes)]


def _memory(bench: Bench) -> float:
    """MB of the worker that has most."""
    return max(memory(pid) for pid in bench.worker_pids()) / 2**20


def _established(crd: Definition, model: Definition) -> Definition:
    """As the API would store it, with the status of another one."""
    names = {
        "singular": crd["spec"]["names"]["kind"].lower(),
        "listKind": crd["spec"]["names"]["kind"] + "List",
        **crd["spec"]["names"],
    }
    stored = [v["name"] for v in crd["spec"]["versions"] if v["storage"]]
    status = {**model["status"], "acceptedNames": names, "storedVersions": stored}
    metadata = {**model["metadata"], "name": crd["metadata"]["name"], "generation": 1}
    return {
        **model,
        "metadata": metadata,
        "spec": {**crd["spec"], "names": names, "conversion": {"strategy": "None"}},
        "status": status,
    }


async def _fill(bench: Bench, crds: list[Definition], tenant: str) -> None:
    """Writes them to the store, and lets every worker serve them."""
    store = PostgresStore(bench.conninfo)
    await store.open()
    number = await bench.tenant_number(tenant)
    await bench.send(
        "GET", f"/clusters/{tenant}/api/v1/namespaces"
    )  # fills the tenant with what every tenant has
    for crd in crds:
        metadata = {k: v for k, v in crd["metadata"].items() if k != "resourceVersion"} | {
            "uid": str(uuid4())
        }
        text = json.dumps(
            {"kind": crd["kind"], "apiVersion": crd["apiVersion"], **crd, "metadata": metadata},
            separators=(",", ":"),
        )
        key = ObjectKey("apiextensions.k8s.io", "customresourcedefinitions", "", metadata["name"])
        await store.write(number, Write("create", key, metadata["uid"], text.encode()))
    await store.close()
    for crd in (crds[0], crds[-1]):
        version = next(v["name"] for v in crd["spec"]["versions"] if v["served"])
        await bench.on_every_worker(
            f"/clusters/{tenant}/apis/{crd['spec']['group']}/{version}/{crd['spec']['names']['plural']}"
        )
