"""Roles and bindings for tests, and a user who may write them without holding much herself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from apiserver.authz.rbac import GROUP
from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.users import RBAC, ROOT, authorizing

NS = f"{RBAC}/namespaces/ns"
WRITES = ["get", "list", "create", "update", "patch", "delete"]
SECRETS = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
MAPS = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
HELD = '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'


def rule(resources: str, verbs: list[str], group: str = GROUP, **more: Any) -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs, **more}


def role(name: str, rules: list[Object] | None, **more: Any) -> Object:
    return {"metadata": {"name": name}, "rules": rules, **more}


def binding(name: str, to: str, *users: str, kind: str = "ClusterRole", **metadata: Any) -> Object:
    subjects = [{"kind": "User", "name": u} for u in users]
    return {
        "metadata": {"name": name, **metadata},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": to},
        "subjects": subjects,
    }


@asynccontextmanager
async def granting(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    """``eve`` may write roles and bindings and read config maps; cluster role ``secrets`` reads
    secrets, ``maps`` config maps."""
    async with serving(store, tenant) as served:
        authorizing(served)
        await served.ok(
            "POST", f"{RBAC}/clusterroles", role("writer", [rule("*", WRITES), *MAPS]), **ROOT
        )
        await served.ok("POST", f"{RBAC}/clusterroles", role("secrets", SECRETS), **ROOT)
        await served.ok("POST", f"{RBAC}/clusterroles", role("maps", MAPS), **ROOT)
        await served.ok(
            "POST", f"{RBAC}/clusterrolebindings", binding("writer", "writer", "eve"), **ROOT
        )
        yield served


async def give(api: Api, *rules: Object, user: str = "eve") -> None:
    await api.ok("POST", f"{RBAC}/clusterroles", role("given", list(rules)), **ROOT)
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding("given", "given", user), **ROOT)
