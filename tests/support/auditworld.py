"""One tenant's API whose audit log is looked at: its table, and what its sinks hear."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import orjson

from apiserver.audit.policy import Policy, parse
from apiserver.audit.recorder import Recorder
from apiserver.authz.attributes import Attributes, Decision
from apiserver.storage.auditlog import AuditLog
from apiserver.storage.postgres import PostgresStore
from apiserver.user import User
from tests.support.api import Api
from tests.support.auditrows import rows

MAPS = "/api/v1/namespaces/ns/configmaps"


class Listener:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.raw = b""

    def put(self, event: bytes) -> None:
        self.raw += event
        self.events.append(orjson.loads(event))

    def close(self) -> None:
        pass


class World:
    """One tenant's API, with ann (all), bob (nothing) and their tokens."""

    def __init__(self, api: Api, store: PostgresStore, policy: Policy) -> None:
        self.api, self.store, self.heard = api, store, Listener()
        self.log = AuditLog(store.database)
        recorder = Recorder(policy, [self.heard], self.log)
        api.server.audit = api.registry.audit = recorder
        users = {name: User(name, f"uid-{name}", ("devs",)) for name in ("ann", "bob")}

        async def token(secret: str, _: int) -> User | None:
            return users.get(secret)

        async def authorize(_: Any, asked: Attributes) -> Decision:
            allowed = asked.user.name != "bob" or asked.verb == "impersonate"
            return Decision(allowed, "because of ann" if allowed else "bob may not")

        async def home(_: str) -> str:
            return "default"

        tenant = api.server.directory.tenant
        directory = SimpleNamespace(
            tenant=tenant, token=token, home=home, remembered=lambda *_: None
        )
        api.server.directory = cast(Any, directory)
        api.server.authorizer = cast(Any, SimpleNamespace(authorize=authorize))

    async def __call__(
        self, method: str, path: str, body: Any = None, user: str = "ann", **more: str
    ) -> int:
        authorization = {"authorization": f"Bearer {user}"} if user else {}
        kind = more.pop("type", "application/json")
        status, _ = await self.api(method, path, body, kind, **authorization, **more)
        return status

    async def entries(self, **columns: Any) -> list[dict[str, Any]]:
        """In their order, once all of them are written."""
        await self.log.close()
        self.log = AuditLog(self.store.database)
        self.api.server.audit.table = self.log
        return await rows(self.store, self.api.tenant.id, **columns)

    async def head(self) -> int:
        return await self.store.head(self.api.tenant.id)


FULL = parse(
    {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitManagedFields": True,
        "rules": [{"level": "RequestResponse"}],
    }
)
