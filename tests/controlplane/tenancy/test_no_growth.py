"""Whatever the owner of one tenant sends, there, to the tenant of tenants and to a neighbour, in
whatever order: elsewhere she never may do more than at the start, and nothing of how tenants are
declared is hers to change. The same of an editor of all tenants (`polyplane:editors`): what he
sends changes nobody's rights, and his own end where those of ClusterRole ``edit`` do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User as Account
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from apiserver.authz.coverage import uncovered
from apiserver.endpoints.server import Server
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.platformroles import EDITORS
from apiserver.registry.authorizer import TenantAuthorizer
from apiserver.registry.scope import Tenant as Control
from apiserver.request import TENANCY_GROUP
from apiserver.user import MASTERS, User, authenticated
from controlplane import accounts, wiring
from controlplane.tenancy import service, tokens
from controlplane.tenancy.controller import TenantController
from controlplane.tenancy.models import Tenant
from tests.support.api import Api
from tests.support.grants import WRITES, binding, role, rule
from tests.support.users import RBAC, RBAC_GROUP
from tests.support.waiting import PATIENCE

EVE, DEV = "growth-eve", "growth-dev"
HERS, ALIEN, HOME = "growth-hers", "growth-alien", service.DEFAULT
NAMES = (HERS, ALIEN, HOME)
USER = User(EVE, groups=authenticated((DEV,), EVE))
TENANTS = f"/apis/{TENANCY_GROUP}/v1/tenants"
TEMPLATES = f"/apis/{TENANCY_GROUP}/v1/tenanttemplates"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
MASTER: Object = binding("growth-root", "cluster-admin", EVE)
CAN = [
    rule("tenants tenanttemplates", ["get", "list", "watch"], TENANCY_GROUP),
    rule("tenants/status", ["get", "update", "patch"], TENANCY_GROUP),
    rule("clusterroles clusterrolebindings roles rolebindings", WRITES),
    rule("configmaps", WRITES, ""),
]
"""What she has in tenant default: all but to write tenants and templates themselves."""


class Call(NamedTuple):
    """at: the tenant that the path names; headers: beside those that say who asks."""

    at: str
    method: str
    path: str
    body: Any = None
    type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


def tenant(name: str, **spec: Any) -> Object:
    kind = {"apiVersion": f"{TENANCY_GROUP}/v1", "kind": "Tenant"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def template() -> Object:
    bound = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", **MASTER}
    kind = {"apiVersion": f"{TENANCY_GROUP}/v1", "kind": "TenantTemplate"}
    return {**kind, "metadata": {"name": "growth"}, "spec": {"objects": [bound]}}


def definition() -> Object:
    """Of Tenants of her own, in another tenant than default."""
    names = {"plural": "tenants", "singular": "tenant", "kind": "Tenant", "listKind": "TenantList"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": TENANCY_GROUP, "scope": "Cluster", "names": names, "versions": [version]}
    return {"metadata": {"name": f"tenants.{TENANCY_GROUP}"}, "spec": spec}


OWNER = {"owners": [{"kind": "User", "name": EVE}]}
AS_ROOT = (("impersonate-user", "root"), ("impersonate-group", MASTERS))
AS_KEEPER = (("impersonate-user", "keeper"), ("impersonate-group", "polyplane:tenant-admins"))
places, names = st.sampled_from(NAMES), st.sampled_from([*NAMES, "growth-new"])
acting = st.sampled_from([(), (), AS_ROOT, AS_KEEPER])
spec = st.sampled_from([OWNER, {"templates": [{"name": "growth"}]}, {"suspended": False}])
RIGHTS = [rule("tenants tenanttemplates", WRITES, TENANCY_GROUP)]
_STATUS: Object = {"status": {"owners": OWNER["owners"], "conditions": []}, "spec": OWNER}


@st.composite
def declarations(draw: st.DrawFn) -> Call:
    """Of a tenant, new or there, in any of the ways."""
    at, name, body = draw(places), draw(names), tenant(draw(names), **draw(spec))
    body["metadata"]["name"] = name
    way = draw(st.sampled_from(["POST", "PUT", MERGE, APPLY, "status", "DELETE"]))
    headers = draw(acting)
    if way == "POST":
        return Call(at, way, TENANTS, body, headers=headers)
    if way == "status":
        path = f"{TENANTS}/{name}/status"
        return Call(at, "PATCH", path, {**_STATUS, "spec": body["spec"]}, MERGE, headers)
    if way == APPLY:
        path = f"{TENANTS}/{name}?fieldManager=eve&force=true"
        return Call(at, "PATCH", path, body, APPLY, headers)
    if way == MERGE:
        return Call(at, "PATCH", f"{TENANTS}/{name}", {"spec": body["spec"]}, MERGE, headers)
    if way == "DELETE" and at == HERS:
        return Call(at, "DELETE", f"{TENANTS}/{name}", headers=headers)
    return Call(at, "PUT", f"{TENANTS}/{name}", body, headers=headers)


ATTACKS = [
    *(Call(at, "POST", f"{RBAC}/clusterrolebindings", MASTER) for at in NAMES),
    *(Call(at, "POST", f"{RBAC}/clusterroles", role("growth-more", RIGHTS)) for at in NAMES),
    *(Call(at, "POST", TEMPLATES, template()) for at in NAMES),
    *(Call(at, "GET", "/api/v1/secrets", headers=AS_ROOT) for at in NAMES),
    Call(HERS, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition()),
    Call(HERS, "POST", TENANTS, tenant(ALIEN, **OWNER)),
    Call(HERS, "POST", TENANTS, tenant(HOME, **OWNER), headers=AS_ROOT),
    Call(HOME, "PATCH", f"{TENANTS}/{ALIEN}/status", _STATUS, MERGE),
    Call(HOME, "PATCH", f"{TENANTS}/{ALIEN}", {"spec": OWNER}, MERGE),
    Call(HOME, "PATCH", f"{TENANTS}/{HERS}", {"spec": {"owners": []}}, MERGE),
    Call(ALIEN, "PATCH", f"{RBAC}/clusterrolebindings/polyplane:owners", MASTER, MERGE),
]
EDITOR = "growth-editor"
MAPS = "/api/v1/namespaces/default/configmaps"
SERVICE_ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SECRETS = "/api/v1/namespaces/default/secrets"
ALL = rule("*", ["*"], "*")
WIDE: Object = {
    **role("growth-wide", [ALL]),
    "metadata": {
        "name": "growth-wide",
        "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"},
    },
}
"""By which a tenant's owner lets ``edit`` do everything."""
GROWING = [
    *ATTACKS,
    *(
        Call(at, method, path, body, kind, headers)
        for at in NAMES
        for method, path, body, kind, headers in (
            ("POST", f"{SERVICE_ACCOUNTS}/default/token", {"spec": {}}, "", ()),
            ("GET", SECRETS, None, "", ()),
            ("POST", SECRETS, {"metadata": {"name": "growth"}}, "", ()),
            ("DELETE", SECRETS, None, "", ()),
            ("GET", MAPS, None, "", (("impersonate-user", "system:serviceaccount:a:b"),)),
            ("GET", MAPS, None, "", AS_ROOT),
            ("POST", f"{RBAC}/clusterroles", WIDE, "", ()),
            ("PATCH", f"{RBAC}/clusterroles/edit", {"rules": [ALL]}, MERGE, ()),
            ("PATCH", f"{RBAC}/clusterroles/view", {"metadata": WIDE["metadata"]}, MERGE, ()),
            ("DELETE", f"{RBAC}/clusterroles/edit", None, "", ()),
            ("GET", "/metrics", None, "", ()),
        )
    ),
]
growing = st.one_of(declarations(), st.sampled_from(GROWING))
calls = st.one_of(declarations(), declarations(), st.sampled_from(ATTACKS))


class World:
    """A server that runs; the controller of tenants looks when it is told to, and not else."""

    def __init__(self, server: Server, tenancy: TenantController) -> None:
        self.server, self._tenancy = server, tenancy
        self.api = Api(server, cast(Any, server.catalog), Control(0, HOME))
        self.root = self.hers = self.editors = ""

    @classmethod
    async def start(cls) -> World:
        for name in NAMES:
            await sync_to_async(service.ensure_tenant)(name)
        made: list[TenantController] = []
        begin = TenantController.start

        def remember(self: TenantController) -> None:
            made.append(self)
            begin(self)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(TenantController, "start", remember)
            world = cls(await wiring.start_server(), *made)
        world.root = await _token("root", [MASTERS])
        world.hers = await _token(EVE, [DEV])
        world.editors = await sync_to_async(_editors_token)()
        async with asyncio.timeout(PATIENCE):
            while await world.as_root("GET", f"{TENANTS}/{HERS}") != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        task = world._tenancy._task
        assert task is not None
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        owners = {"owners": [{"kind": "Group", "name": DEV}]}
        assert await world.as_root("PATCH", f"{TENANTS}/{HERS}", {"spec": owners}, MERGE) == 200
        for path, body in (
            ("clusterroles", role("growth-can", CAN)),
            ("clusterrolebindings", binding("growth-can", "growth-can", EVE)),
        ):
            assert await world.as_root("POST", f"{RBAC}/{path}", body) in (201, 409)
        await world.served()
        return world

    async def served(self) -> None:
        """Until she is the owner of hers, and may look in default."""
        calls = [Call(HOME, "GET", f"{TENANTS}/{name}") for name in NAMES]
        calls.append(Call(HERS, "GET", "/api/v1/secrets"))
        async with asyncio.timeout(PATIENCE):
            while {await self.send(call) for call in calls} != {200}:
                await self.settle()
                await asyncio.sleep(0.05)
        await self.settle()

    async def as_root(self, method: str, path: str, body: Any = None, type: str = "") -> int:
        bearer = {"authorization": f"Bearer {self.root}"}
        kind = type or "application/json"
        status, _ = await self.api(method, f"/clusters/{HOME}{path}", body, kind, **bearer)
        return status

    async def send(self, call: Call, token: str = "") -> int:
        """By her, where no other token is given."""
        headers = {"authorization": f"Bearer {token or self.hers}", **dict(call.headers)}
        path = f"/clusters/{call.at}{call.path}"
        kind = call.type or "application/json"
        status, answer = await self.api(call.method, path, call.body, kind, **headers)
        assert status < 500, (call, answer)
        return status

    async def settle(self) -> None:
        """What the controller does about everything that there is."""
        known = [*NAMES, "growth-new"]
        self._tenancy._due.update(dict.fromkeys(known, 0.0))
        async with asyncio.timeout(PATIENCE):
            await self._tenancy._look_at(known)

    async def declared(self) -> dict[str, Any]:
        rows = [row async for row in Tenant.objects.filter(name__startswith="growth-")]
        rows.append(await Tenant.objects.aget(name=HOME))
        return {row.name: (row.owners, row.bound_owners, row.templates, row.state) for row in rows}

    async def held(self, name: str) -> list[Object]:
        row = await Tenant.objects.aget(name=name)
        tenant = Control(row.pk, name)
        await self.server.seeder.ensure(tenant)
        for resource in ("roles", "clusterroles", "rolebindings", "clusterrolebindings"):
            await self.server.registry.watches.fresh(row.pk, GroupResource(RBAC_GROUP, resource))
        authorizer = TenantAuthorizer(self.server.registry)
        return (await authorizer.rules_for(tenant, USER, "default")).rules

    async def granted(self) -> dict[str, Any]:
        """Roles and bindings of all tenants."""
        found = {}
        bearer = {"authorization": f"Bearer {self.root}"}
        for at in NAMES:
            for of in ("roles", "clusterroles", "rolebindings", "clusterrolebindings"):
                path = f"/clusters/{at}{RBAC}/{of}"
                status, answer = await self.api("GET", path, None, "application/json", **bearer)
                assert status == 200
                found[at, of] = answer["items"]
        return found


def _editors_token() -> str:
    account, _ = Account.objects.get_or_create(username=EDITOR)
    accounts.grant(account, EDITORS)
    return tokens.create_token(EDITOR, uid=accounts.api_uid(account), tenant=None).secret


async def _token(user: str, groups: list[str]) -> str:
    made = await sync_to_async(tokens.create_token)(user, groups=groups, tenant=None)
    return made.secret


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture(scope="module")
def world(postgres: str, runner: asyncio.Runner) -> Iterator[World]:
    made = runner.run(World.start())
    yield made
    runner.run(wiring.stop_server(made.server))


async def play(world: World, attempts: list[Call]) -> None:
    declared = await world.declared()
    before = {name: await world.held(name) for name in (HOME, ALIEN)}
    assert uncovered(before[HOME], [rule("secrets", ["get"], "")])[0], "or nothing could grow"
    for call in attempts:
        status = await world.send(call)
        if status >= 400 or call.method == "GET":
            assert status >= 400 or call.at == HERS, call
            continue
        await world.settle()
        assert await world.declared() == declared, call
        for name, rules in before.items():
            assert uncovered(rules, await world.held(name)) == ([], True), call


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(attempts=st.lists(calls, min_size=4, max_size=10))
@example(attempts=ATTACKS)
def test_the_owner_of_a_tenant_gains_nothing_elsewhere(
    runner: asyncio.Runner, world: World, attempts: list[Call]
) -> None:
    runner.run(play(world, attempts))


def test_she_is_who_she_seems_to_be(runner: asyncio.Runner, world: World) -> None:
    """All of it would hold of somebody who may do nothing."""

    async def run() -> None:
        assert await world.send(Call(HERS, "GET", "/api/v1/secrets")) == 200
        assert await world.send(Call(HERS, "GET", "/api/v1/secrets", headers=AS_ROOT)) == 200
        assert await world.send(Call(HOME, "GET", TENANTS)) == 200
        status: Object = {"status": {"conditions": []}}
        path = f"{TENANTS}/{ALIEN}/status"
        assert await world.send(Call(HOME, "PATCH", path, status, MERGE)) == 200
        assert await world.send(Call(ALIEN, "GET", "/api/v1/secrets")) == 403

    runner.run(run())


async def play_editor(world: World, attempts: list[Call]) -> None:
    declared, granted = await world.declared(), await world.granted()
    for call in attempts:
        assert await world.send(call, world.editors) >= 400, call
    await world.settle()
    assert await world.declared() == declared
    assert await world.granted() == granted


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(attempts=st.lists(growing, min_size=4, max_size=10))
@example(attempts=GROWING)
def test_an_editor_of_all_tenants_gains_nothing(
    runner: asyncio.Runner, world: World, attempts: list[Call]
) -> None:
    runner.run(play_editor(world, attempts))


def test_an_editor_edits_in_every_tenant_that_serves(runner: asyncio.Runner, world: World) -> None:
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    async def may(at: str, verb: str, resource: str) -> bool:
        asked = {"verb": verb, "resource": resource, "namespace": "default"}
        bearer = {"authorization": f"Bearer {world.editors}"}
        body = {"spec": {"resourceAttributes": asked}}
        path = f"/clusters/{at}{review}"
        status, answer = await world.api("POST", path, body, "application/json", **bearer)
        assert status == 201
        return bool(answer["status"]["allowed"])

    async def run() -> None:
        for at in NAMES:
            for method, path, body, expected in (
                ("POST", MAPS, {"metadata": {"name": "growth-made"}}, 201),
                ("GET", f"{MAPS}/growth-made", None, 200),
                ("DELETE", f"{MAPS}/growth-made", None, 200),
                ("POST", "/api/v1/namespaces", {"metadata": {"name": "growth"}}, 403),
            ):
                assert await world.send(Call(at, method, path, body), world.editors) == expected
            assert await may(at, "create", "configmaps")
            assert not await may(at, "get", "secrets")
        await suspend(True, 403)
        await suspend(False, 200)

    async def suspend(suspended: bool, expected: int) -> None:
        patch = {"spec": {"suspended": suspended}}
        assert await world.as_root("PATCH", f"{TENANTS}/{ALIEN}", patch, MERGE) == 200
        await world.settle()
        asked = Call(ALIEN, "GET", MAPS)
        async with asyncio.timeout(PATIENCE):
            while await world.send(asked, world.editors) != expected:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    runner.run(run())


def test_what_an_owner_adds_to_edit_is_an_editors_there_and_no_more(
    runner: asyncio.Runner, world: World
) -> None:
    """Last of the file: what she has made stays."""
    spaces = "/api/v1/namespaces"

    async def run() -> None:
        assert await world.send(Call(HERS, "POST", f"{RBAC}/clusterroles", WIDE)) == 201
        made = Call(HERS, "POST", spaces, {"metadata": {"name": "growth-wide"}})
        async with asyncio.timeout(PATIENCE):
            while await world.send(made, world.editors) != 201:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        for at in (ALIEN, HOME):
            assert await world.send(made._replace(at=at), world.editors) == 403
        definitions = "/apis/apiextensions.k8s.io/"
        await play_editor(world, [call for call in GROWING if definitions not in call.path])

    runner.run(run())
