"""manage.py migrate_storage, as an operator runs it: over all tenants or one, all resources or one,
and what it says when it fails."""

from __future__ import annotations

import asyncio
import io
import itertools
from collections.abc import Awaitable, Callable, Iterator

import pytest
from django.core.management import call_command

from apiserver.controllers import storagemigration
from apiserver.storage.postgres import PostgresStore
from controlplane.errors import OperatorError
from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant
from tests.support.api import Api, serving
from tests.support.webhooks import nobody
from tests.support.widgets import CRD, V1, V2, define, redefine, widget

_numbers = itertools.count(1)


@pytest.fixture
def tenant(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tenant]:
    monkeypatch.setattr(storagemigration, "SETTLE", 0.0)
    name = f"migrating-{next(_numbers)}"
    yield service.create_tenant(name)
    service.delete_tenant(name)


def with_api(postgres: str, tenant: Tenant, work: Callable[[Api], Awaitable[None]]) -> None:
    async def run() -> None:
        store = PostgresStore(postgres, size=2)
        await store.open()
        async with serving(store, tenant.pk) as api:
            await api.catalog.ready(api.tenant)
            await work(api)
        await store.close()

    asyncio.run(run())


def migrate(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("migrate_storage", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


async def two_old_objects(api: Api) -> None:
    await define(api, None)
    for name in ("a", "b"):
        await api.ok("POST", V1, widget(name, replicas=1))
    await redefine(api, None, "v2")


def test_it_says_what_it_would_do_does_it_and_has_nothing_left_to_do(
    postgres: str, tenant: Tenant
) -> None:
    with_api(postgres, tenant, two_old_objects)
    out, err = migrate("--tenant", tenant.name, "--dry-run")
    assert out == f"{tenant.name}: widgets.example.com: 2 objects would be stored in v2\n"
    out, err = migrate("--tenant", tenant.name, "--resource", "widgets.example.com")
    assert out == (
        f"{tenant.name}: widgets.example.com: 2 objects are now stored in v2; no "
        f"longer in storedVersions: v1\n"
    )
    assert "2 objects looked at, 2 stored anew" in err
    assert migrate("--tenant", tenant.name) == (
        "Nothing to do: all objects are stored in today's versions.\n",
        "",
    )

    async def readable(api: Api) -> None:
        assert (await api.ok("GET", CRD))["status"]["storedVersions"] == ["v2"]
        assert [i["spec"] for i in (await api.ok("GET", V2))["items"]] == [{"replicas": 1}] * 2

    with_api(postgres, tenant, readable)


def test_objects_that_fail_are_named_and_the_command_fails(postgres: str, tenant: Tenant) -> None:
    async def unreachable(api: Api) -> None:
        await two_old_objects(api)
        await redefine(api, nobody(), "v2")

    with_api(postgres, tenant, unreachable)
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(OperatorError, match="2 objects could not be converted"):
        call_command("migrate_storage", "--tenant", tenant.name, stdout=out, stderr=err)
    assert (
        "ns/a failed: conversion webhook for example.com/v1, Kind=Widget failed" in err.getvalue()
    )
    assert (
        "connection refused" in err.getvalue()
        and "0 objects are now stored in v2, 2 failed" in out.getvalue()
    )

    async def untouched(api: Api) -> None:
        assert (await api.ok("GET", CRD))["status"]["storedVersions"] == ["v1", "v2"]
        assert len((await api.ok("GET", V1))["items"]) == 2

    with_api(postgres, tenant, untouched)


def test_a_resource_that_nobody_has_is_an_error(tenant: Tenant) -> None:
    with pytest.raises(OperatorError, match=r'No tenant has a resource "gadgets.example.com"'):
        migrate("--tenant", tenant.name, "--resource", "gadgets.example.com")
