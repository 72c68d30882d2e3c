"""Creates under admission policies that mean them: fifty that all pass, beside the same creates in
a namespace that no policy is about."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.benchmarks.bench import Bench, configmap
from tests.benchmarks.client import Connection, drive, request
from tests.benchmarks.result import Result, percentiles

COUNT = 50
_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"


async def create(bench: Bench, count: int = COUNT) -> list[Result]:
    """``count``: of policies."""
    for name in ("policies", "free"):
        await bench.namespace(name)
    await _install(bench, count)
    free = await _creates(bench, "free")
    ours = await _creates(bench, "policies")
    result = Result.of(
        f"create, {count} policies", "writes/s", *(m for m, _ in (ours, free)), **ours[1]
    )
    return [result]


async def _creates(bench: Bench, namespace: str) -> tuple[Any, dict[str, str]]:
    path, latencies = f"/api/v1/namespaces/{namespace}/configmaps", []
    head, tail = configmap("@").split(b"@")

    async def load() -> tuple[int, float]:
        done = await drive(
            bench.site,
            bench.clients,
            bench.seconds,
            lambda c, n: request(bench.site, "POST", path, head + b"p%03d-%06d" % (c, n) + tail),
        )
        latencies.extend(done.latencies)
        return done.answers, done.seconds

    return await bench.measure(load), percentiles(latencies)


async def _install(bench: Bench, count: int) -> None:
    """Policies about ConfigMaps of one namespace, and waits until they are obeyed."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "policies"}}
    connection = await Connection.open(bench.site)
    for i in range(count):
        spec = {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
            "validations": [
                {
                    "expression": f"object.metadata.name != 'denied-{i}' && "
                    "object.data.all(k, size(object.data[k]) < 1000)",
                    "message": "no",
                }
            ],
        }
        await _post(connection, bench, "validatingadmissionpolicies", f"bench-{i:02}", spec)
        spec = {"policyName": f"bench-{i:02}", "validationActions": ["Deny"]}
        await _post(connection, bench, "validatingadmissionpolicybindings", f"bench-{i:02}", spec)
    path = "/api/v1/namespaces/policies/configmaps?dryRun=All"
    last = request(bench.site, "POST", path, configmap(f"denied-{count - 1}"))
    while await connection.send(last) != 422:  # noqa: ASYNC110  nothing tells of it
        await asyncio.sleep(0.1)
    connection.close()


async def _post(
    connection: Connection, bench: Bench, resource: str, name: str, spec: dict[str, Any]
) -> None:
    body = json.dumps({"metadata": {"name": name}, "spec": spec}).encode()
    status = await connection.send(request(bench.site, "POST", f"{_REGISTRATION}/{resource}", body))
    if status not in (201, 409):
        raise RuntimeError(f"{connection.body!r}")
