"""``python -m tests.benchmarks --only authorization``: what a decision costs in one process, over
watch caches that are warm, in a tenant with 1,000 bindings.

The yardstick is the least that any RBAC does, by hand: the user's one rule, found in a dictionary,
and compared with the question.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import orjson

from apiserver.authorizers.chain import Authority
from apiserver.authorizers.links import World
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import GROUP
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.lookup import CacheLookup
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey, Record
from apiserver.user import AUTHENTICATED, User
from apiserver.watch.cache import Cache
from tests.benchmarks.bench import Bench
from tests.benchmarks.result import Result

BINDINGS, RUNS, REPEATS = 1_000, 5_000, 5
TENANT = Tenant(1, "bench")
_RULES = [
    {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["apps"], "resources": ["deployments", "statefulsets"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "update"]},
]


class Case(NamedTuple):
    name: str
    namespace: str
    question: Attributes


def _asks(name: str, namespace: str, verb: str) -> Case:
    user = User(f"user-{BINDINGS // 2}", groups=("dev", AUTHENTICATED))
    asked = Attributes(user, verb, "", "v1", "configmaps", "", "ns", "web")
    return Case(f"authorize, {BINDINGS:,} {name}", namespace, asked)


CASES = (
    _asks("cluster bindings", "", "get"),
    _asks("bindings of the namespace", "ns", "get"),
    _asks("cluster bindings, refused", "", "delete"),
)


def world(namespace: str, bindings: int = BINDINGS) -> tuple[Authority, World]:
    """Bindings of as many users to as many roles, in the namespace or cluster-wide."""
    prefix = "" if namespace else "cluster"
    kind = "Role" if namespace else "ClusterRole"
    caches = {
        GroupResource(GROUP, resource): Cache(
            GroupResource(GROUP, resource), lambda *_: ({}, {}), SimpleNamespace(position=1)
        )
        for resource in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    }
    names = [f"bench-{i:05}" for i in range(bindings)]
    roles = [_record(f"{prefix}roles", namespace, n, {"rules": _RULES}) for n in names]
    given = [
        _record(
            f"{prefix}rolebindings",
            namespace,
            name,
            {
                "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name},
                "subjects": [{"kind": "User", "name": f"user-{i}"}],
            },
        )
        for i, name in enumerate(names)
    ]
    caches[GroupResource(GROUP, f"{prefix}roles")].load(roles)
    caches[GroupResource(GROUP, f"{prefix}rolebindings")].load(given)
    watches: Any = SimpleNamespace(peek=lambda tenant, resource: caches[resource])
    registry: Any = SimpleNamespace(watches=watches)
    asker: Any = None
    return Authority(), World(*TENANT, CacheLookup(registry, TENANT, asker))


def _record(resource: str, namespace: str, name: str, body: Object) -> Record:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    data = orjson.dumps(
        {"kind": resource, "apiVersion": f"{GROUP}/v1", "metadata": metadata, **body}
    )
    return Record(ObjectKey(GROUP, resource, namespace, name), name, 1, data)


def by_hand(question: Attributes) -> Callable[[], Awaitable[Decision]]:
    rules = {question.user.name: _RULES[2]}

    async def decide() -> Decision:
        rule = rules[question.user.name]
        allowed = (
            question.verb in rule["verbs"]
            and question.group in rule["apiGroups"]
            and question.resource in rule["resources"]
        )
        return Decision(allowed)

    return decide


async def decisions(bench: Bench) -> list[Result]:
    return [await _result(case) for case in CASES]


async def _result(case: Case) -> Result:
    authority, there = world(case.namespace)

    async def ours() -> Decision:
        return await authority.authorize(there, case.question)

    theirs = by_hand(case.question)
    assert (await ours()).allowed == (await theirs()).allowed
    seconds, least = await _least(ours), await _least(theirs)
    notes = {"a decision": f"{seconds * 1e6:.1f} µs"}
    return Result(case.name, 1 / seconds, "decisions/s", 1 / least, notes=notes)


async def _least(decide: Callable[[], Awaitable[Decision]]) -> float:
    """Seconds of processor time for one, the least of several attempts."""
    found = []
    for _ in range(REPEATS):
        began = time.process_time()
        for _ in range(RUNS):
            await decide()
        found.append((time.process_time() - began) / RUNS)
        await asyncio.sleep(0)
    return min(found)
