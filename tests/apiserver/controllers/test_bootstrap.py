"""Defaults come back, and up to date, with the next start of a process."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import pytest_asyncio

from apiserver.controllers import bootstrap, manager
from apiserver.controllers.actions import Actions
from apiserver.controllers.bootstrap import BootstrapRoles, LocalServices
from apiserver.controllers.manager import Controllers
from apiserver.controllers.upkeep import Due
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import seed
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitionworker import Worker

_RBAC = "rbac.authorization.k8s.io"
ROLES, BINDINGS = (_RBAC, "clusterroles"), (_RBAC, "clusterrolebindings")
SERVICES = ("apiregistration.k8s.io", "apiservices")
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"


@pytest_asyncio.fixture
async def seeded(worker: Worker) -> Worker:
    await seed(worker.registry, worker.tenant)
    return worker


async def start(worker: Worker, store: PostgresStore) -> list[BootstrapRoles | LocalServices]:
    """Keepers of a process that starts now and gets a request for the tenant."""
    actions, relations = Actions(worker.registry), Relations(store.database)
    keepers: list[BootstrapRoles | LocalServices] = [
        BootstrapRoles(actions, relations),
        LocalServices(actions, relations),
    ]
    for keeper in keepers:
        await serve(worker, keeper)
    return keepers


async def serve(worker: Worker, keeper: BootstrapRoles | LocalServices) -> None:
    for name in keeper.used(worker.tenant.id):
        await keeper.look(worker.tenant, name)


async def there(worker: Worker, resource: tuple[str, str], name: str) -> Object:
    obj = await worker.get(resource, name)
    assert obj is not None
    return obj


async def test_what_is_as_it_should_be_is_not_written(seeded: Worker, store: PostgresStore) -> None:
    before = await store.head(seeded.tenant.id)
    await start(seeded, store)
    assert await store.head(seeded.tenant.id) == before


async def test_what_was_deleted_comes_back(seeded: Worker, store: PostgresStore) -> None:
    names = [(ROLES, "view"), (BINDINGS, "system:discovery"), (SERVICES, "v1.apps")]
    before = [await seeded.delete(*name) for name in names]
    await start(seeded, store)
    for name, gone in zip(names, before, strict=True):
        present = await there(seeded, *name)
        members = ("rules", "roleRef", "subjects", "spec")
        assert [present.get(m) for m in members] == [gone.get(m) for m in members]
        assert present["metadata"]["labels"] == gone["metadata"]["labels"]


async def test_missing_rules_and_subjects_come_in_and_others_stay(
    seeded: Worker, store: PostgresStore
) -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    mine = {"kind": "User", "apiGroup": _RBAC, "name": "me"}
    expected = (await there(seeded, ROLES, "system:kube-dns"))["rules"]

    def own_rule(obj: Object) -> None:
        obj["rules"] = [rule]
        obj["metadata"]["labels"] = {"mine": "yes"}

    await seeded.change(ROLES, "system:kube-dns", own_rule)
    await seeded.change(BINDINGS, "system:discovery", lambda b: b.update(subjects=[mine]))
    await start(seeded, store)
    role = await there(seeded, ROLES, "system:kube-dns")
    assert role["rules"][0] == rule
    wanted = {(r["resources"][0], verb) for r in expected for verb in r["verbs"]}
    assert wanted <= {(res, v) for r in role["rules"] for res in r["resources"] for v in r["verbs"]}
    assert role["metadata"]["labels"] == {
        "mine": "yes",
        "kubernetes.io/bootstrapping": "rbac-defaults",
    }
    binding = await there(seeded, BINDINGS, "system:discovery")
    group = {"kind": "Group", "apiGroup": _RBAC, "name": "system:authenticated"}
    assert binding["subjects"] == [mine, group]


async def test_who_says_so_is_left_alone(seeded: Worker, store: PostgresStore) -> None:
    def alone(obj: Object) -> None:
        obj["rules"] = []
        obj["metadata"]["annotations"][AUTOUPDATE] = "false"

    await seeded.change(ROLES, "system:kube-dns", alone)
    await start(seeded, store)
    assert not (await there(seeded, ROLES, "system:kube-dns")).get("rules")


async def test_aggregated_roles_get_their_selectors_only(
    seeded: Worker, store: PostgresStore
) -> None:
    own = {"matchLabels": {"own": "yes"}}

    def without(obj: Object) -> None:
        obj["aggregationRule"] = {"clusterRoleSelectors": [own]}
        obj["rules"] = []

    await seeded.change(ROLES, "view", without)
    await start(seeded, store)
    role = await there(seeded, ROLES, "view")
    wanted = {"matchLabels": {f"{_RBAC}/aggregate-to-view": "true"}}
    assert role["aggregationRule"]["clusterRoleSelectors"] == [own, wanted]
    assert not role.get("rules")


async def test_a_binding_of_another_role_is_made_anew(seeded: Worker, store: PostgresStore) -> None:
    deleted = await seeded.delete(BINDINGS, "system:discovery")
    other = {"roleRef": {**deleted["roleRef"], "name": "view"}, "subjects": deleted["subjects"]}
    await seeded.create(BINDINGS, {"metadata": {"name": "system:discovery"}, **other})
    await start(seeded, store)
    binding = await there(seeded, BINDINGS, "system:discovery")
    assert binding["roleRef"]["name"] == "system:discovery"


async def test_later_processes_leave_what_was_deleted_meanwhile(
    seeded: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of the same server whose first request for the tenant comes late."""
    late = BootstrapRoles(Actions(seeded.registry), Relations(store.database))
    monkeypatch.setattr(late, "_started", time.monotonic() - 3600)
    await seeded.delete(ROLES, "view")
    await serve(seeded, late)
    assert await seeded.get(ROLES, "view") is None


async def test_a_process_looks_once(seeded: Worker, store: PostgresStore) -> None:
    keepers = await start(seeded, store)
    assert keepers and not any(keeper.used(seeded.tenant.id) for keeper in keepers)


async def test_api_services_that_are_marked_are_put_right(
    seeded: Worker, store: PostgresStore
) -> None:
    def demoted(obj: Object) -> None:
        obj["spec"]["versionPriority"] = 3

    def unmarked(obj: Object) -> None:
        demoted(obj)
        obj["metadata"]["labels"] = {}

    await seeded.change(SERVICES, "v1.apps", demoted)
    await seeded.change(SERVICES, "v1.batch", unmarked)
    await start(seeded, store)
    assert (await there(seeded, SERVICES, "v1.apps"))["spec"]["versionPriority"] == 15
    assert (await there(seeded, SERVICES, "v1.batch"))["spec"]["versionPriority"] == 3


async def test_processes_that_start_at_once_do_not_disturb_each_other(
    seeded: Worker, other: Worker, store: PostgresStore
) -> None:
    await seeded.delete(ROLES, "view")
    await seeded.change(ROLES, "system:kube-dns", lambda r: r.update(rules=[]))
    async with running_controllers(seeded, store), running_controllers(other, store):

        async def back() -> bool:
            view, dns = [await seeded.get(ROLES, n) for n in ("view", "system:kube-dns")]
            return view is not None and dns is not None and bool(dns.get("rules"))

        await seeded.until_true(back)
    rules = (await there(seeded, ROLES, "system:kube-dns"))["rules"]
    assert len(rules) == len({str(r) for r in rules})


async def test_a_tenant_may_do_without(
    seeded: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    async def roles(self: BootstrapRoles, tenant: Tenant, name: str) -> None:
        looked.append("roles")

    async def services(self: LocalServices, tenant: Tenant, name: str) -> None:
        looked.append("services")

    monkeypatch.setattr(BootstrapRoles, "look", roles)
    monkeypatch.setattr(LocalServices, "look", services)
    monkeypatch.setattr(bootstrap, "Due", partial(Due, again=0.0))
    async with running_controllers(seeded, store, (BootstrapRoles.controller,)):
        await seeded.until(lambda: looked.count("services") > 1)
    assert "roles" not in looked


@asynccontextmanager
async def running_controllers(
    worker: Worker, store: PostgresStore, off: tuple[str, ...] = ()
) -> AsyncIterator[Controllers]:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    async def turned_off(number: int) -> tuple[str, ...]:
        return off

    used: Callable[[], list[int]] = lambda: [worker.tenant.id]  # noqa: E731
    some = Controllers(
        worker.registry,
        store.database,
        tenant_of,
        "test",
        worker.controller,
        turned_off,
        used=used,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manager, "USE", 0.01)
        some.start()
        yield some
    await some.stop()
