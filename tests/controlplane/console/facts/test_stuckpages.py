"""Stuck deletions: how many whom is shown of which tenant.

| who | sees those of |
|---|---|
| polyplane:viewers, editors, tenant admins, superusers | all tenants |
| an owner of a tenant | that tenant |
| anybody else who has logged in | none |
| nobody | 401 |
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apiserver.storage.models import ObjectRow
from apiserver.storage.visibility import django_everywhere
from controlplane.tenancy.models import Tenant

from .conftest import Ask

OWNED, OTHER = "pages-owned", "pages-other"


def waiting(tenant: str, name: str, minutes: int | None, namespace: str = "stuck") -> ObjectRow:
    """minutes: for how long it has been being deleted; None: it is not."""
    since = datetime.now(UTC) - timedelta(minutes=minutes or 0)
    marked = {} if minutes is None else {"deletionTimestamp": f"{since:%Y-%m-%dT%H:%M:%SZ}"}
    return ObjectRow.objects.create(
        tenant_id=Tenant.objects.get(name=tenant).pk,
        api_group="apps" if name == "old" else "",
        resource="deployments" if name == "old" else "configmaps",
        namespace=namespace,
        name=name,
        uid=uuid.uuid4(),
        resource_version=1,
        data={"metadata": {"name": name, **marked}},
        finalizers=["example.com/wait"],
        deleting=minutes is not None,
        created_at=since,
        size=1,
    )


@pytest.fixture(autouse=True)
def rows(people: dict[str, User]) -> Iterator[None]:
    with django_everywhere():
        made = [
            waiting(OWNED, "old", 90),
            waiting(OWNED, "older", 3000),
            waiting(OWNED, "new", 1),
            waiting(OWNED, "alive", None),
            waiting(OTHER, "foreign", 30),
        ]
    yield
    with django_everywhere():
        ObjectRow.objects.filter(uid__in=[row.uid for row in made]).delete()


def found(ask: Ask, who: str, minutes: int | str = "") -> list[tuple[str, str]]:
    """(tenant, name) of the test's own rows, as they come: others' may be there too."""
    status, answer = ask(who, "GET", f"stuck?minutes={minutes}")
    assert status == 200, answer
    own = [item for item in answer["items"] if item["namespace"] == "stuck"]
    return [(item["tenant"], item["name"]) for item in own]


@pytest.mark.parametrize("who", ["root", "looker", "keeper"])
def test_who_sees_all_tenants_sees_the_oldest_first(ask: Ask, who: str) -> None:
    assert found(ask, who) == [(OWNED, "older"), (OWNED, "old"), (OTHER, "foreign")]


def test_an_owner_sees_his_own_and_others_none(ask: Ask) -> None:
    assert found(ask, "owner") == [(OWNED, "older"), (OWNED, "old")]
    assert found(ask, "ann") == []
    assert ask("", "GET", "stuck")[0] == 401
    assert ask("owner", "POST", "stuck", {})[0] == 405


def test_for_how_long_can_be_said(ask: Ask) -> None:
    assert [name for _, name in found(ask, "owner", 0)] == ["older", "old", "new"]
    assert [name for _, name in found(ask, "owner", 1440)] == ["older"]
    for wrong in ("-1", "x", "99999999"):
        assert ask("owner", "GET", f"stuck?minutes={wrong}")[0] == 400


def test_each_tenant_has_its_number(ask: Ask) -> None:
    _, answer = ask("owner", "GET", "stuck?minutes=60")
    assert [(row["tenant"], row["objects"]) for row in answer["tenants"]] == [(OWNED, 2)]
    old = answer["items"][1]
    assert (old["group"], old["resource"]) == ("apps", "deployments")
    assert old["finalizers"] == ["example.com/wait"]
    assert answer["tenants"][0]["since"] == answer["items"][0]["since"]


def test_it_asks_the_index_of_what_is_being_deleted(ask: Ask) -> None:
    ask("looker", "GET", "stuck")  # logs in
    with CaptureQueriesContext(connection) as captured:
        ask("looker", "GET", "stuck")
    assert len(captured) <= 12
    (asked, *_) = [q["sql"] for q in captured if "WITH waiting" in q["sql"]]
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {asked}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "objects_being_deleted" in plan, plan
