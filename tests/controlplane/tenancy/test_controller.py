"""Tenant objects and rows in step, with the server's own parts: made from a template, cut short at
every object, expired, deleted by either side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async

from admission.plugins.tenants import TENANTS
from apiserver.controllers.actions import Actions
from apiserver.errors import ApiError, TooManyRequests
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant as Control
from apiserver.request import TENANCY_GROUP
from apiserver.storage.interface import ObjectKey
from controlplane import wiring
from controlplane.tenancy import controller as controllers
from controlplane.tenancy import service, types
from controlplane.tenancy.applying import Applying
from controlplane.tenancy.controller import TenantController
from controlplane.tenancy.models import Tenant
from tests.support.waiting import PATIENCE

TEMPLATE: list[dict[str, Any]] = [
    {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "work"},
        "size": 3,
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "team"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    },
    {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "work"},
        "spec": {"hard": {"configmaps": "10"}},
    },
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"size": {"type": "integer"}},
                        }
                    },
                }
            ],
        },
    },
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}},
]
WIDGET = ObjectKey("example.com", "widgets", "work", "w")


class Home:
    """Tenant default of a server that runs."""

    def __init__(self, tenancy: TenantController) -> None:
        self.tenancy, self.actions = tenancy, tenancy._actions
        self.tenant: Control = tenancy._home

    async def make(self, resource: GroupResource, name: str, **spec: Any) -> None:
        kind = "Tenant" if resource == TENANTS else "TenantTemplate"
        obj = {
            "apiVersion": f"{TENANCY_GROUP}/v1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        await self.tenancy._applying.one(self.tenant, obj, "test")

    async def get(self, name: str) -> dict[str, Any] | None:
        return await self.actions.get(self.tenant, ObjectKey(*TENANTS, "", name))

    async def condition(self, name: str, kind: str) -> dict[str, Any]:
        conditions = ((await self.get(name) or {}).get("status") or {}).get("conditions") or ()
        return next((c for c in conditions if c["type"] == kind), {})

    async def until(self, holds: Callable[[], Any]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not (found := await holds()):  # noqa: ASYNC110  nothing tells of it
                await asyncio.sleep(0.02)
            return found

    async def ready(self, name: str) -> Tenant:
        async def holds() -> bool:
            return (await self.condition(name, "Ready")).get("status") == "True"

        await self.until(holds)
        return await sync_to_async(service.get_tenant)(name)

    async def gone(self, name: str) -> None:
        async def holds() -> bool:
            row = await Tenant.objects.filter(name=name).aexists()
            return not row and await self.get(name) is None

        await self.until(holds)

    async def delete(self, name: str) -> None:
        obj = await self.get(name)
        assert obj is not None
        await self.actions.delete(
            self.tenant, ObjectKey(*TENANTS, "", name), obj["metadata"]["uid"], "a test"
        )


@pytest.fixture
async def home(postgres: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Home]:
    made: list[TenantController] = []
    start = TenantController.start

    def remember(self: TenantController) -> None:
        made.append(self)
        start(self)

    monkeypatch.setattr(TenantController, "start", remember)
    monkeypatch.setattr(controllers, "_PAUSE", 0.05)
    monkeypatch.setattr(controllers, "_LONGEST_PAUSE", 0.1)
    await sync_to_async(service.ensure_tenant)(service.DEFAULT)
    server = await wiring.start_server()
    tenancy = made[0]
    found = Home(tenancy)

    async def serves() -> bool:
        found.tenant = tenancy._home
        return tenancy._registry.catalog.find(tenancy._home, *types.TEMPLATES) is not None

    await found.until(serves)
    yield found
    await wiring.stop_server(server)


async def test_a_tenant_is_ready_only_when_all_is_there_wherever_it_was_cut_short(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.make(types.TEMPLATES, "cut", objects=TEMPLATE)
    whole = Applying.one
    told: list[str] = []

    for limit in range(len(TEMPLATE) + 1):
        name, left = f"cut-{limit}", [limit]

        async def one(
            self: Applying, tenant: Control, obj: Any, manager: str, left: list[int] = left
        ) -> None:
            if tenant.name.startswith("cut-"):
                left[0] -= 1
                if left[0] < 0:
                    raise ConnectionError("the process is killed here")
            await whole(self, tenant, obj, manager)

        with monkeypatch.context() as killed:
            killed.setattr(Applying, "one", one)
            await home.make(
                TENANTS,
                name,
                templates=[{"name": "cut"}],
                owners=[{"kind": "User", "name": "alice"}],
            )

            async def died(left: list[int] = left) -> bool:
                return left[0] < 0

            await home.until(died)
            told.append((await home.condition(name, "Ready")).get("status", ""))
        row = await home.ready(name)
        tenant = Control(row.pk, name)
        await home.tenancy._catalog.ready(tenant)
        found = await home.actions.get(tenant, WIDGET)
        assert found is not None and found["size"] == 3
        for resource, namespace, object_name in (
            (GroupResource("", "resourcequotas"), "work", "q"),
            (GroupResource("rbac.authorization.k8s.io", "clusterroles"), "", "team"),
        ):
            key = ObjectKey(*resource, namespace, object_name)
            assert await home.actions.get(tenant, key) is not None
        bound = GroupResource("rbac.authorization.k8s.io", "clusterrolebindings")
        binding = await home.actions.get(tenant, ObjectKey(*bound, "", controllers.OWNERS))
        assert binding is not None and [s["name"] for s in binding["subjects"]] == ["alice"]
    assert "True" not in told


async def test_what_a_template_lacks_is_said_and_mended(home: Home) -> None:
    await home.make(TENANTS, "lacking", templates=[{"name": "later"}])

    async def says() -> bool:
        ready = await home.condition("lacking", "Ready")
        return ready.get("message") == 'there is no TenantTemplate "later"'

    await home.until(says)
    assert (await home.condition("lacking", "Ready"))["status"] == "False"
    await home.make(types.TEMPLATES, "later", objects=TEMPLATE)
    await home.ready("lacking")


async def test_row_and_object_follow_each_other(home: Home) -> None:
    await home.make(TENANTS, "both", displayName="One", quotas={"objects": 500})
    row = await home.ready("both")
    assert (row.display_name, row.max_objects) == ("One", 500)
    await sync_to_async(service.set_quotas)(row, max_objects=700)

    async def followed() -> bool:
        return ((await home.get("both") or {})["spec"]["quotas"]) == {"objects": 700}

    await home.until(followed)
    await home.make(TENANTS, "both", displayName="Two", suspended=True, quotas={"objects": 700})

    async def suspended() -> bool:
        return (await home.condition("both", "Suspended")).get("status") == "True"

    await home.until(suspended)
    row = await sync_to_async(service.get_tenant)("both")
    assert (row.state, row.display_name, row.max_objects) == ("suspended", "Two", 700)


async def test_a_tenant_made_by_command_gets_an_object_and_either_deletes_both(home: Home) -> None:
    await sync_to_async(service.create_tenant)("by-command", owners=["User:alice"])
    await home.ready("by-command")
    obj = await home.get("by-command")
    assert obj is not None and obj["spec"]["owners"] == [{"kind": "User", "name": "alice"}]
    await sync_to_async(service.delete_tenant)("by-command")
    await home.gone("by-command")
    await home.make(TENANTS, "by-object")
    await home.ready("by-object")
    await home.delete("by-object")
    await home.gone("by-object")


async def test_a_change_right_after_the_object_appears_is_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the controller has looked at the object that it made itself."""
    ensure = Actions.ensure

    async def changed_at_once(
        self: Actions, tenant: Control, key: Any, *more: Any, **options: Any
    ) -> bool:
        def edit(obj: Any) -> bool:
            obj["spec"]["owners"] = [{"kind": "User", "name": "ann"}]
            return True

        if not await ensure(self, tenant, key, *more, **options) or key.name != "quickly":
            return False
        await self.change(tenant, key, edit, manager="kubectl")
        raise TooManyRequests("whoever made it gets no further")

    monkeypatch.setattr(Actions, "ensure", changed_at_once)
    await sync_to_async(service.create_tenant)("quickly")
    row = await home.ready("quickly")

    async def bound() -> bool:
        await row.arefresh_from_db()
        return row.bound_owners == ["User:ann"]

    await home.until(bound)
    assert (await home.get("quickly") or {})["spec"]["owners"][0]["name"] == "ann"
    await home.delete("quickly")
    await home.gone("quickly")


async def test_a_protected_tenant_stays_and_an_expired_one_goes(home: Home) -> None:
    await home.make(TENANTS, "kept", ttlSeconds=0, deletionProtection=True)
    await home.make(TENANTS, "over", ttlSeconds=0)
    await home.gone("over")
    with pytest.raises(ApiError, match="protected from deletion"):
        await home.delete("kept")

    async def says() -> bool:
        return (await home.condition("kept", "Expired")).get("reason") == "Protected"

    await home.until(says)
    await home.make(TENANTS, "kept", ttlSeconds=0)
    await home.gone("kept")


async def test_owners_are_bound_and_unbound(home: Home) -> None:
    await home.make(TENANTS, "owned", owners=[{"kind": "User", "name": "alice"}])
    row = await home.ready("owned")
    owned = home.tenancy._registry.store
    bound = ObjectKey("rbac.authorization.k8s.io", "clusterrolebindings", "", controllers.OWNERS)

    async def names() -> list[str]:
        record = await owned.get(row.pk, bound)
        subjects = orjson.loads(record.data).get("subjects") if record is not None else ()
        return [subject["name"] for subject in subjects or ()]

    assert await names() == ["alice"]
    await home.make(TENANTS, "owned", owners=[{"kind": "Group", "name": "dev"}])

    async def only_the_group() -> bool:
        return await names() == ["dev"]

    await home.until(only_the_group)
    await home.make(TENANTS, "owned")

    async def nobody() -> bool:
        return await names() == []

    await home.until(nobody)


async def test_what_is_said_of_the_home_tenant_does_not_make_the_next_thing_to_say(
    home: Home,
) -> None:
    async def settled() -> bool:
        before = await home.get("default")
        for _ in range(3):
            await home.tenancy._count()
        after = await home.get("default")
        return after is not None and after == before

    await home.until(settled)
    before = (await home.get("default") or {})["status"]["counts"]
    await home.make(TENANTS, "counted")
    await home.ready("counted")

    async def counted() -> bool:
        await home.tenancy._count()
        now = (await home.get("default") or {})["status"]["counts"]
        return bool(now["objects"] > before["objects"] and now["logBytes"] > before["logBytes"])

    await home.until(counted)
    await home.delete("counted")
    await home.gone("counted")
