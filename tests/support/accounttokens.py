"""Tokens of service accounts for tests: an API with two tenants and RBAC, and who asks it for
tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from apiserver.authn.jose import parse
from apiserver.registry.authorizer import TenantAuthorizer
from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from apiserver.user import MASTERS, User, authenticated
from tests.support.api import Api, serving
from tests.support.fixtures import in_thread
from tests.support.storage import numbers

NS = "/api/v1/namespaces/ns"
ACCOUNT = f"{NS}/serviceaccounts/robot"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/ns"
REVIEWS = "/apis/authentication.k8s.io/v1"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ROOT = {"authorization": "Bearer root"}


class Directory:
    """Two tenants, and an operator's token that is good in both."""

    def __init__(self, default: int, acme: int) -> None:
        self.numbers = {"default": default, "acme": acme}

    async def tenant(self, name: str) -> Any:
        number = self.numbers.get(name)
        return number and SimpleNamespace(
            id=number, name=name, state="active", max_watches=None, max_inflight=None
        )

    async def token(self, secret: str, tenant_id: int) -> User | None:
        return User("root", groups=authenticated([MASTERS], secret)) if secret == "root" else None

    def remembered(self, secret: str, tenant: str) -> None:
        return None

    async def home(self, secret: str) -> str:
        return "default"


@asynccontextmanager
async def serving_tokens(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    """The API of tenant `default` beside another, `acme`, with RBAC and the account ``robot``."""
    other = next(numbers)
    await in_thread(lambda: tenants.create(other))
    async with serving(store, tenant) as served:
        served.server.directory = Directory(tenant, other)
        served.server.authorizer = TenantAuthorizer(served.registry)
        await served.ok("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "robot"}}, **ROOT)
        yield served
    await in_thread(lambda: tenants.drop(other))


async def issue(api: Api, path: str = f"{ACCOUNT}/token", **spec: Any) -> Any:
    return await api.ok("POST", path, {"spec": spec}, **ROOT)


async def token(api: Api, **spec: Any) -> str:
    return str((await issue(api, **spec))["status"]["token"])


async def refused(api: Api, **spec: Any) -> tuple[int, str]:
    status, body = await api("POST", f"{ACCOUNT}/token", {"spec": spec}, **ROOT)
    return status, body["message"]


async def status(
    api: Api, secret: str, path: str = "/apis", method: str = "GET", body: Any = None
) -> int:
    return (await api(method, path, body, authorization=f"Bearer {secret}"))[0]


async def review(api: Api, secret: str, *audiences: str) -> Any:
    body = {"spec": {"token": secret, "audiences": list(audiences)}}
    return (await api.ok("POST", f"{REVIEWS}/tokenreviews", body, **ROOT))["status"]


def payload(secret: str) -> Any:
    found = parse(secret)
    assert found is not None
    return found.claims


def ref(kind: str, name: str, **more: str) -> Any:
    return {"kind": kind, "apiVersion": "v1", "name": name, **more}
