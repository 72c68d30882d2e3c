"""TenantProtection: who may delete which Tenant objects and definitions, and where; who lets the
first go before their tenants are empty."""

from __future__ import annotations

from typing import Any

import pytest

from admission.plugins.tenants import FINALIZER, TENANTS, TenantProtection
from apiserver.errors import Forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.user import MASTERS, User
from tests.support.plugins import Rights, World, asked

HOME, ELSEWHERE = 1, 2
DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
ADMIN = User("admin", groups=(MASTERS,))
SERVER = User("system:kube-controller-manager", groups=(MASTERS,))
OURS, THEIRS = "tenants.tenancy.polyplane.dev", "widgets.example.com"


def named(name: str, protected: bool = False, suspended: bool = False) -> dict[str, Any]:
    spec = {"deletionProtection": protected, "suspended": suspended}
    return {"metadata": {"name": name}, "spec": spec}


async def verdict(
    operation: str, resource: GroupResource, obj: Any, user: User, at: int, *, of_all: bool = False
) -> bool:
    """Whether it is let through; ``of_all``: a collection is deleted, the request names nothing."""
    plugin = TenantProtection(HOME, Rights())
    new, old = (None, obj) if operation == "DELETE" else (obj, obj)
    attributes = asked(new, old, resource, "", user, "", "Any", at)
    attributes.operation = operation  # type: ignore[assignment]
    attributes.name = "" if of_all else obj["metadata"]["name"]
    assert plugin.handles(attributes)
    await plugin.admit(attributes, World())  # type: ignore[arg-type]
    try:
        await plugin.validate(attributes, World())  # type: ignore[arg-type]
    except Forbidden:
        return False
    return True


@pytest.mark.parametrize("of_all", [False, True])
@pytest.mark.parametrize("user", [ADMIN, SERVER])
@pytest.mark.parametrize("suspended", [False, True])
@pytest.mark.parametrize(
    ("name", "protected", "at", "allowed"),
    [
        ("acme", False, HOME, True),
        ("acme", True, HOME, False),
        ("default", False, HOME, False),
        ("default", True, HOME, False),
        # a tenant's own type of that name is its own affair
        ("acme", True, ELSEWHERE, True),
        ("default", False, ELSEWHERE, True),
    ],
)
async def test_deletions(
    name: str, protected: bool, at: int, allowed: bool, suspended: bool, user: User, of_all: bool
) -> None:
    obj = named(name, protected, suspended)
    assert await verdict("DELETE", TENANTS, obj, user, at, of_all=of_all) is allowed


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
@pytest.mark.parametrize(
    ("name", "user", "at", "allowed"),
    [
        (OURS, ADMIN, HOME, False),
        (OURS, SERVER, HOME, True),
        (THEIRS, ADMIN, HOME, True),
        (OURS, ADMIN, ELSEWHERE, True),
    ],
)
async def test_definitions(operation: str, name: str, user: User, at: int, allowed: bool) -> None:
    assert await verdict(operation, DEFINITIONS, named(name), user, at) is allowed


@pytest.mark.parametrize(("name", "allowed"), [(OURS, False), (THEIRS, True)])
async def test_definitions_of_a_collection(name: str, allowed: bool) -> None:
    found = await verdict("DELETE", DEFINITIONS, named(name), ADMIN, HOME, of_all=True)
    assert found is allowed


@pytest.mark.parametrize(
    ("metadata", "subresource", "at", "held"),
    [
        ({}, "", HOME, True),
        ({"finalizers": ["a/b"]}, "", HOME, True),
        ({"finalizers": [FINALIZER]}, "", HOME, True),
        # it is not put back on what is on its way out
        ({"deletionTimestamp": "2030-01-01T00:00:00Z"}, "", HOME, False),
        ({}, "status", HOME, False),
        ({}, "", ELSEWHERE, False),
    ],
)
async def test_the_finalizer(
    metadata: dict[str, Any], subresource: str, at: int, held: bool
) -> None:
    obj = {"metadata": {"name": "acme", **metadata}}
    attributes = asked(obj, None, TENANTS, subresource, ADMIN, "", "Tenant", at)
    await TenantProtection(HOME, Rights()).admit(attributes, World())  # type: ignore[arg-type]
    assert attributes.object is not None
    finalizers = attributes.object["metadata"].get("finalizers", [])
    assert finalizers.count(FINALIZER) == held


FORCE = "update tenants/finalizers acme"
GOING = {"deletionTimestamp": "2030-01-01T00:00:00Z"}


@pytest.mark.parametrize("others", [[], ["a/b"]])
@pytest.mark.parametrize(
    ("before", "after", "right", "at", "allowed"),
    [
        ([FINALIZER], [], "", HOME, False),
        ([FINALIZER], [], FORCE, HOME, True),
        # of other tenants, or to change them, is another right
        ([FINALIZER], [], "update tenants/finalizers demo", HOME, False),
        ([FINALIZER], [], "update tenants acme", HOME, False),
        ([FINALIZER], [], "patch tenants/finalizers acme", HOME, False),
        ([FINALIZER], [FINALIZER], "", HOME, True),
        ([FINALIZER, "c/d"], [FINALIZER], "", HOME, True),
        # what is not held any more goes on losing others
        (["c/d"], [], "", HOME, True),
        ([FINALIZER], [], "", ELSEWHERE, True),
    ],
)
async def test_who_lets_it_go_before_the_tenant_is_empty(
    before: list[str], after: list[str], right: str, at: int, allowed: bool, others: list[str]
) -> None:
    old = {"metadata": {"name": "acme", **GOING, "finalizers": others + before}}
    new = {"metadata": {"name": "acme", **GOING, "finalizers": others + after}}
    if not others + after:
        del new["metadata"]["finalizers"]
    attributes = asked(new, old, TENANTS, "", User("keeper"), "", "Tenant", at)
    plugin = TenantProtection(HOME, Rights(right))
    await plugin.admit(attributes, World())  # type: ignore[arg-type]
    if allowed:
        await plugin.validate(attributes, World())  # type: ignore[arg-type]
        return
    with pytest.raises(Forbidden, match="needs the verb update on tenants/finalizers"):
        await plugin.validate(attributes, World())  # type: ignore[arg-type]


async def test_it_is_held_whatever_a_webhook_makes_of_it() -> None:
    old = {"metadata": {"name": "acme", "finalizers": [FINALIZER]}}
    attributes = asked({"metadata": {"name": "acme"}}, old, TENANTS, "", ADMIN, "", "Tenant", HOME)
    plugin = TenantProtection(HOME, Rights())
    await plugin.admit(attributes, World())  # type: ignore[arg-type]
    attributes.object = {"metadata": {"name": "acme"}}
    with pytest.raises(Forbidden):
        await plugin.validate(attributes, World())  # type: ignore[arg-type]
