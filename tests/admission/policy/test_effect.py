"""When policies count, for whom, and what they cost those who have none."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from admission.chain import Chain
from admission.policy import compiled, hooks
from admission.policy.compiled import Library, digest_of
from admission.policy.hooks import Hooks
from admission.policy.validating import ValidatingAdmissionPolicy
from apiserver.registry.authorizer import decide
from apiserver.registry.scope import Tenant
from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from tests.admission.policy.policies import CONFIGMAPS, Policies, check, configmap, merge, obeying
from tests.support.api import serving
from tests.support.fixtures import in_thread
from tests.support.storage import numbers
from tests.support.users import ROOT, authorizing
from tests.support.waiting import PATIENCE

NEVER = check("false", message="never")


async def test_a_change_settles_before_it_counts(
    policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    await policies.made(configmap("before"))
    monkeypatch.setattr(hooks, "SETTLING", 1000.0)
    await policies.validating("p", NEVER)
    await policies.made(configmap("meanwhile"))
    monkeypatch.setattr(hooks, "SETTLING", 0.0)
    assert await policies.denied(configmap("after")) == "never"


async def test_another_worker_obeys_what_this_one_stored(
    policies: Policies, postgres: str, tenant: int
) -> None:
    opened = PostgresStore(postgres, size=2)
    await opened.open()
    async with serving(opened, tenant) as api:
        authorizing(api).registry.chain = Chain([ValidatingAdmissionPolicy(Library(), decide)])
        other = Policies(api)
        await other.made(configmap("before"))
        await policies.validating("p", NEVER)

        await _answered(other, 422)
        path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/p"
        await policies.api.ok("DELETE", path, **ROOT)

        await _answered(other, 201)
    await opened.close()


async def _answered(policies: Policies, status: int) -> None:
    """Waits until a dry run has that answer."""
    async with asyncio.timeout(PATIENCE):
        while (await policies.create(configmap("x"), f"{CONFIGMAPS}?dryRun=All"))[0] != status:  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0.01)


async def test_a_neighbour_is_not_touched(policies: Policies, store: PostgresStore) -> None:
    number = next(numbers)
    await in_thread(lambda: tenants.create(number))
    async with serving(store, number) as api:
        neighbour = await obeying(api)
        await policies.validating("p", NEVER)
        await policies.mutating("m", merge("Object{data: {'x': 'y'}}"))
        assert await policies.denied(configmap()) == "never"
        assert "data" not in await neighbour.made(configmap())
    await in_thread(lambda: tenants.drop(number))


async def test_a_tenant_without_bindings_reads_no_policies(
    policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("there is nothing to look at")

    monkeypatch.setattr("admission.policy.hooks._read", fail)
    monkeypatch.setattr("admission.policy.plugin.plan", fail)
    await policies.made(configmap())


async def test_hooks_are_read_again_only_where_something_changed(policies: Policies) -> None:
    registry, tenant = policies.api.registry, policies.api.tenant
    read = Hooks("validating", Library())

    async def hooks_now() -> Any:
        return await read.of(tenant.id, registry.lookup(Tenant(*tenant)))

    await policies.validating("a", NEVER)
    await policies.validating("b", NEVER)
    first = await hooks_now()
    assert await hooks_now() is first
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/a"
    change = {"spec": {"failurePolicy": "Ignore"}}
    assert (await policies.api("PATCH", path, change, "application/merge-patch+json", **ROOT))[
        0
    ] == 200
    second = await hooks_now()
    assert (second[0] is first[0], second[1] is first[1]) == (False, True)
    assert second[0].fails_open
    read.forget(tenant.id)
    assert await hooks_now() is not second


# --- what is kept ---------------------------------------------------------------------------------
def spec(expression: str) -> dict[str, Any]:
    return {"validations": [{"expression": expression}]}


def test_equal_policies_share_their_compiled_form() -> None:
    library, one = Library(), spec("object.a == 1")
    first = library.get(digest_of(one), one)
    program = first.validations[0].expression.get().program
    again = library.get(digest_of(spec("object.a == 1")), spec("object.a == 1"))
    assert again is first
    assert again.validations[0].expression.get().program is program
    assert library.get(digest_of(spec("1 == 1")), spec("1 == 1")) is not first


def test_compiled_policies_are_bounded_and_dropped_when_idle() -> None:
    library = Library(kept=40)
    for i in range(20):
        one = spec(f"object.a == {i:3}")
        library.get(digest_of(one), one)
    assert 1 < len(library) <= 3
    library.forget_idle()
    assert len(library) > 1, "used a moment ago"
    forgetful = Library(idle=-1.0)
    one = spec("object.a == 1")
    forgetful.get(digest_of(one), one)
    forgetful.forget_idle()
    assert not len(forgetful)


def test_what_nobody_uses_goes_when_another_policy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(compiled, "time", SimpleNamespace(monotonic=lambda: now[0]))
    library, idle, used = Library(idle=300.0), spec("object.a == 1"), spec("object.a == 2")
    for _ in range(4):
        library.get(digest_of(used), used)
        if now[0] == 1000.0:
            library.get(digest_of(idle), idle)
        now[0] += 110
    assert len(library) == 1
    kept = library.get(digest_of(used), used)
    now[0] += 1000
    assert library.get(digest_of(used), used) is kept, "an idle one that is wanted now stays"


def test_expressions_of_a_huge_policy_are_not_kept() -> None:
    huge = {"validations": [{"expression": f"object.a{'a' * 90_000} == {i}"} for i in range(3)]}
    (first, *_) = Library().get(digest_of(huge), huge).validations
    assert first.expression.get().program is not None
    assert first.expression._compiled is None
