"""Many users of one tenant: a token is its user's name, and ``root`` may do everything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from apiserver.registry.authorizer import TenantAuthorizer
from apiserver.user import MASTERS, User, authenticated
from tests.support.api import Api

RBAC = "/apis/rbac.authorization.k8s.io/v1"
RBAC_GROUP = "rbac.authorization.k8s.io"


class _Directory:
    def __init__(self, number: int) -> None:
        self._number = number

    async def tenant(self, name: str) -> Any:
        return SimpleNamespace(
            id=self._number, name=name, state="active", max_watches=None, max_inflight=None
        )

    async def token(self, secret: str, tenant_id: int) -> User | None:
        return User(secret, groups=authenticated((MASTERS,) if secret == "root" else (), secret))

    def remembered(self, secret: str, tenant: str) -> None:
        return None

    async def home(self, secret: str) -> str:
        return "default"


def authorizing(api: Api) -> Api:
    """The same API with users and with RBAC."""
    api.server.directory = _Directory(api.tenant.id)
    api.server.authorizer = TenantAuthorizer(api.registry)
    return api


def as_user(name: str) -> dict[str, str]:
    """The headers of that user's requests."""
    return {"authorization": f"Bearer {name}"}


ROOT = as_user("root")
