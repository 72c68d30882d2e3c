"""A PUT or an apply of what is not there: the right to create is asked for when the object is known
to be valid, and before validating admission (k8s.io/apiserver ``endpoints/handlers/create.go``)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from admission.attributes import Attributes, Lookup
from admission.chain import Chain
from apiserver.errors import Forbidden
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.fixtures import store, tenant
from tests.support.roles import binding, role, rule, user
from tests.support.users import RBAC, ROOT, as_user, authorizing

__all__ = ["store", "tenant"]

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/c"
"""Of a kind that a PUT creates."""
BOB = as_user("bob")
REFUSED = 'User "bob" cannot create resource "leases" in API group "coordination.k8s.io"'


class Witness:
    """Notes what admission is asked, and refuses in validation."""

    name = "Witness"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def handles(self, attributes: Attributes) -> bool:
        return attributes.group_resource.resource == "leases"

    async def admit(self, attributes: Attributes, lookup: Lookup) -> None:
        self.asked.append("mutate")

    async def validate(self, attributes: Attributes, lookup: Lookup) -> None:
        self.asked.append("validate")
        raise Forbidden(attributes.group_resource, attributes.name, "the witness refuses")


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        api = authorizing(made)
        await grant(api, "update", "patch")
        yield api


async def grant(api: Api, *verbs: str) -> None:
    made = role("-".join(verbs), rule(" ".join(verbs), "leases", "coordination.k8s.io"))
    for resource, obj in (
        ("clusterroles", made),
        ("clusterrolebindings", binding(made["metadata"]["name"], made, user("bob"))),
    ):
        body = {k: v for k, v in obj.items() if k != "kind"}
        await api.ok("POST", f"{RBAC}/{resource}", body, **ROOT)


async def put(api: Api, **spec: Any) -> tuple[int, Any]:
    return await api("PUT", PATH, lease(spec), **BOB)


async def apply(api: Api, **spec: Any) -> tuple[int, Any]:
    path = f"{PATH}?fieldManager=m"
    return await api("PATCH", path, lease(spec), "application/apply-patch+yaml", **BOB)


def lease(spec: dict[str, Any]) -> dict[str, Any]:
    kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return {**kind, "metadata": {"name": "c"}, "spec": spec}


@pytest.mark.parametrize("write", [put, apply])
async def test_what_is_asked_when(api: Api, write: Any) -> None:
    witness = Witness()
    api.registry.chain = Chain([witness])
    code, answer = await write(api, leaseDurationSeconds=-1)
    assert code == 422 and "must be greater than 0" in answer["message"]
    code, answer = await write(api)
    assert code == 403 and REFUSED in answer["message"]
    assert "validate" not in witness.asked and "mutate" in witness.asked
    await grant(api, "create")
    code, answer = await write(api)
    assert code == 403 and "the witness refuses" in answer["message"]


@pytest.mark.parametrize("write", [put, apply])
async def test_nothing_is_there_until_it_is_allowed(api: Api, write: Any) -> None:
    assert (await write(api))[0] == 403
    assert (await api("GET", PATH, **ROOT))[0] == 404
    await grant(api, "create")
    assert (await write(api))[0] == 201
