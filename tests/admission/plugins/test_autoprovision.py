from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from admission import names
from admission.chain import Chain
from admission.order import plugins_in_order
from admission.plugins.autoprovision import NamespaceAutoProvision
from admission.rules import NAMESPACES
from admission.webhooks.call import Caller
from apiserver.errors import AlreadyExists, BadRequest
from apiserver.meta.gvk import GroupResource
from apiserver.registry.authorizer import decide
from apiserver.registry.provision import Provision
from apiserver.registry.quota import Quotas
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.plugins import World, asked, refusal, run

MAPS = "/api/v1/namespaces/new/configmaps"
MAP = {"metadata": {"name": "m"}}


class Provided:
    """tenant and name of what was to be made."""

    def __init__(self, error: Exception | None = None) -> None:
        self.made: list[tuple[int, str]] = []
        self.error = error

    async def __call__(self, tenant: int, name: str) -> None:
        self.made.append((tenant, name))
        if self.error is not None:
            raise self.error


async def test_a_namespace_that_is_missing_is_made() -> None:
    provided = Provided()
    await run(NamespaceAutoProvision(provided), asked(MAP, tenant=7))
    assert provided.made == [(7, "ns")]
    there = World().put(NAMESPACES, {"metadata": {"name": "ns"}})
    await run(NamespaceAutoProvision(provided), asked(MAP), there)
    assert len(provided.made) == 1


async def test_only_what_is_created_in_a_namespace_makes_it() -> None:
    plugin = NamespaceAutoProvision(Provided())
    nodes = GroupResource("", "nodes")
    assert not plugin.handles(asked(MAP, MAP))
    assert not plugin.handles(asked(MAP, namespace="", resource=nodes))
    assert not plugin.handles(asked(MAP, resource=NAMESPACES))
    assert not plugin.handles(asked(MAP, dry_run=True))


async def test_what_is_in_the_way_is_told() -> None:
    plugin = NamespaceAutoProvision(Provided(BadRequest("no")))
    assert (await refusal(plugin, asked(MAP))).message == 'pods "m" is forbidden: no'
    await run(NamespaceAutoProvision(Provided(AlreadyExists(NAMESPACES, "ns"))), asked(MAP))


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as served:
        provision = Provision()
        served.registry.chain = Chain(
            plugins_in_order(
                Quotas(store, served.registry.catalog),
                decide,
                Caller(served.registry.webhooks),
                provision,
                names.enabled(["NamespaceAutoProvision"], []),
            )
        )
        provision.registry = served.registry
        yield served


async def test_an_object_brings_its_namespace(api: Api) -> None:
    status, _ = await api("POST", f"{MAPS}?dryRun=All", MAP)
    assert status == 404
    await api.ok("POST", MAPS, MAP)
    namespace = await api.ok("GET", "/api/v1/namespaces/new")
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "new"}
    assert namespace["status"]["phase"] == "Active"


@pytest.mark.parametrize("name", ["UPPER", "a.b"])
async def test_a_name_that_no_namespace_has_is_refused(api: Api, name: str) -> None:
    status, answer = await api("POST", MAPS.replace("new", name), MAP)
    assert status == 403
    assert name in answer["message"]
