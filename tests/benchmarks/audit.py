"""Creates that leave an audit entry, beside the same creates in a namespace that the policy keeps
nothing of; in turns, because a machine is not the same for long."""

from __future__ import annotations

import json

from tests.benchmarks.bench import Bench, configmap
from tests.benchmarks.client import drive, request
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.result import Measure, Result

QUIET = "unaudited"
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "None", "namespaces": [QUIET]},
        {"level": "Metadata"},
    ],
}
TURNS = 8


def prepare(bench: Bench) -> None:
    """To be called before the server starts."""
    path = bench.path / "audit-policy.yaml"
    path.write_text(json.dumps(POLICY))
    bench.installation.env["POLYPLANE_AUDIT_POLICY_FILE"] = str(path)


async def create(bench: Bench) -> list[Result]:
    spaces = {"audited": Measure(0.0), QUIET: Measure(0.0)}
    database = dict.fromkeys(spaces, 0.0)
    for space in spaces:
        await bench.namespace(space)
    for turn in range(TURNS):
        for space in sorted(spaces, reverse=bool(turn % 2)):
            before = cpu_seconds(bench.installation.below("postgres"))
            found = await _creates(bench, space, turn)
            after = cpu_seconds(bench.installation.below("postgres"))
            count = found.rate * found.seconds
            database[space] += (after - before) / max(count, 1) * 1e6 / TURNS
            spaces[space].rate += found.rate / TURNS
            spaces[space].cpu += found.cpu / TURNS
    notes = {"database": " beside ".join(f"{database[s]:.0f} µs" for s in ("audited", QUIET))}
    return [Result.of("create, audited", "writes/s", spaces["audited"], spaces[QUIET], **notes)]


async def _creates(bench: Bench, space: str, turn: int) -> Measure:
    path = f"/api/v1/namespaces/{space}/configmaps"
    head, tail = configmap("@").split(b"@")

    async def load() -> tuple[int, float]:
        done = await drive(
            bench.site,
            bench.clients,
            bench.seconds / 4,
            lambda c, n: request(
                bench.site, "POST", path, head + b"t%d-%03d-%06d" % (turn, c, n) + tail
            ),
        )
        return done.answers, done.seconds

    return await bench.measure(load)
