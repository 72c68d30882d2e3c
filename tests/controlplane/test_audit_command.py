"""manage.py audit: who did what, of one tenant or of all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection

from apiserver.storage.models import ObjectRow
from apiserver.storage.visibility import django_everywhere, django_within
from controlplane.errors import OperatorError
from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant


def put(
    tenant: Tenant | None,
    user: str,
    verb: str,
    name: str,
    code: int = 200,
    *,
    about: tuple[str, str, str] = ("apps", "deployments", "shop"),
    annotations: dict[str, str] | None = None,
) -> None:
    group, resource, namespace = about
    event = {
        "kind": "Event",
        "verb": verb,
        "user": {"username": user},
        "sourceIPs": ["192.0.2.7"],
        "impersonatedUser": {"username": "jane"} if verb == "patch" else None,
        "objectRef": {"name": name},
    } | ({"annotations": annotations} if annotations else {})
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pp_audit(%s, %s, %s, %s, %s::bigint[], %s, %s, %s, %s, %s)",
            [
                [tenant.pk if tenant else None],
                [datetime.now(UTC)],
                [user],
                [verb],
                [code],
                [group],
                [resource],
                [namespace],
                [name],
                [json.dumps(event)],
            ],
        )


@pytest.fixture(scope="module")
def tenants(postgres: str) -> Iterator[tuple[Tenant, Tenant]]:
    a, b = service.create_tenant("audited-a"), service.create_tenant("audited-b")
    put(a, "ann", "create", "web")
    put(a, "ann", "patch", "web")
    put(a, "bob", "delete", "web", 403)
    put(a, "bob", "delete", "db")
    put(b, "eve", "create", "web")
    put(None, "nobody-knows", "login", "", 401)
    yield a, b


def run(*arguments: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("audit", *arguments, "-o", "json", stdout=out)
    found: list[dict[str, Any]] = json.loads(out.getvalue())
    return found


def whats(*arguments: str) -> list[tuple[str, str, str]]:
    return [
        (e["user"]["username"], e["verb"], e["objectRef"]["name"])
        for e in run("--tenant", "audited-a", *arguments)
    ]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("", 4),
        ("--user ann", 2),
        ("--verb delete", 2),
        ("--code 403", 1),
        ("--object deployments.apps/shop/web", 3),
        ("--object deployments.apps/shop", 4),
        ("--object deployments", 4),
        ("--object deployments/shop/web", 3),
        ("--object deploy/shop", 4),
        ("--object Deployment.v1.apps/shop/db", 1),
        ("--object pods", 0),
        ("--verb get", 0),
        ("--user bob --object deployments.apps/shop/db", 1),
        ("--since 1h", 4),
        ("--until 1h", 0),
        ("--since 2020-01-01T00:00Z --until 2020-01-02", 0),
        ("--limit 1", 1),
    ],
)
def test_what_is_asked_for(tenants: tuple[Tenant, Tenant], arguments: str, found: int) -> None:
    assert len(whats(*arguments.split())) == found


def test_the_newest_comes_first(tenants: tuple[Tenant, Tenant]) -> None:
    assert whats()[0] == ("bob", "delete", "db")
    assert whats()[-1] == ("ann", "create", "web")


def test_a_tenant_does_not_see_another(tenants: tuple[Tenant, Tenant]) -> None:
    _, b = tenants
    assert [e["user"]["username"] for e in run("--tenant", "audited-b")] == ["eve"]
    assert run("--tenant", str(b.pk)) == run("--tenant", "audited-b"), "also by its number"
    everything = run("--since", "1h", "--limit", "100000")
    users = {e.get("user", {}).get("username") for e in everything}
    assert users >= {"ann", "bob", "eve", "nobody-knows"}, "all, for an operator"


def definition(tenant: Tenant) -> None:
    """A custom resource of the tenant, as it is stored."""
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "shortNames": ["gg"]}
    crd = {
        "spec": {"group": "example.com", "scope": "Cluster", "names": names},
        "status": {"acceptedNames": names},
    }
    with django_within(tenant.pk):
        ObjectRow.objects.create(
            tenant_id=tenant.pk,
            api_group="apiextensions.k8s.io",
            resource="customresourcedefinitions",
            namespace="",
            name="gadgets.example.com",
            uid=uuid4(),
            resource_version=1,
            data=crd,
            created_at=datetime.now(UTC),
            size=1,
        )


def test_custom_resources_are_called_as_their_tenant_calls_them(
    tenants: tuple[Tenant, Tenant],
) -> None:
    a, b = tenants[0], service.create_tenant("audited-custom")
    definition(b)
    put(b, "gus", "create", "g1", about=("example.com", "gadgets", ""))
    put(b, "gus", "create", "g2", about=("example.com", "gadgets", ""))
    for word, found in (("gg", 2), ("gadget/g1", 1), ("Gadget.example.com//g2", 1)):
        assert len(run("--tenant", b.name, "--object", word)) == found, word
    with pytest.raises(OperatorError, match="in that tenant"):
        run("--tenant", a.name, "--object", "gg")


def test_what_has_gone_is_found_by_its_own_words(postgres: str) -> None:
    """A resource without a definition any more, a verb that nobody uses any more."""
    a = service.create_tenant("audited-past")
    put(a, "old", "archive", "o1", about=("gone.example.com", "things", "shop"))
    for words in ("--object things.gone.example.com/shop/o1", "--verb archive"):
        assert len(run("--tenant", a.name, *words.split())) == 1, words


def columns(*arguments: str) -> list[str]:
    """Of each line for people the tenant, and what it is about."""
    out = StringIO()
    call_command("audit", *arguments, stdout=out)
    head, *lines = out.getvalue().splitlines()
    begin, end = head.index("TENANT"), head.index("CODE")
    return [f"{line[begin:end].strip()} {line.split()[-1]}" for line in lines]


def test_tenants_are_named_and_those_that_went_are_numbers(postgres: str) -> None:
    names = ("audited-and-still-there", "audited-and-gone", "779")
    there, gone, numeric = map(service.create_tenant, names)
    for tenant in (there, gone, numeric):
        put(tenant, "namer", "create", "named")
    service.delete_tenant(gone.name)
    by = ("--user", "namer")
    about = "deployments.apps/shop/named"
    assert sorted(columns(*by)) == sorted(
        [f"{there.name} {about}", f"{gone.pk} {about}", f"779 {about}"]
    )
    told = {e["annotations"]["tenancy.polyplane.dev/tenant"] for e in run(*by)}
    assert told == {there.name, str(gone.pk), "779"}
    for asked in (there.name, str(gone.pk), "779"):
        assert columns(*by, "--tenant", asked) == [f"{asked} {about}"]


def test_a_name_that_the_entry_itself_tells_stays(postgres: str) -> None:
    tenant = service.create_tenant("audited-notes")
    notes = {"tenancy.polyplane.dev/tenant": "as-it-was-called"}
    put(tenant, "noted", "create", "noted", annotations=notes)
    (found,) = run("--tenant", tenant.name, "--user", "noted")
    assert found["annotations"] == notes


def test_a_table_for_people(tenants: tuple[Tenant, Tenant]) -> None:
    out = StringIO()
    call_command("audit", "--tenant", "audited-a", "--verb", "patch", stdout=out)
    head, line = out.getvalue().splitlines()
    assert head.split() == ["TIME", "TENANT", "CODE", "VERB", "USER", "FROM", "VERSION", "WHAT"]
    assert "ann as jane" in line and "192.0.2.7" in line
    assert line.endswith("deployments.apps/shop/web")


def test_names_that_anybody_chose_do_nothing_to_a_terminal(
    tenants: tuple[Tenant, Tenant],
) -> None:
    put(None, "x\n2027-01-01 forged", "get", "\x1b[2J\u202eweb\x9b", 401)
    out = StringIO()
    call_command("audit", "--verb", "get", "--code", "401", stdout=out)
    _, *lines = out.getvalue().splitlines()
    (line,) = (line for line in lines if "forged" in line)
    assert line.isprintable()
    assert r"x\n2027-01-01 forged" in line and r"\x1b[2J\u202eweb\x9b" in line


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--since", "yesterday"], "is no time"),
        (["--since", "999999d"], "is no time"),
        (["--since", "2027-13-45T00:00Z"], "is no time"),
        (["--tenant", "no-such"], "There is no tenant"),
        (["--object", "nosuch.kind/shop/web"], "no built-in resource 'nosuch.kind'"),
        (["--object", "deploymnts.apps/shop"], r"did you mean deployments\.apps\?"),
        (["--object", "deployments.app"], r"did you mean deployments\.apps\?"),
        (["--object", "widgets"], "name the --tenant"),
        (["--verb", "delet"], r"did you mean delete\?"),
        (["--verb", "DELETE"], r"did you mean delete\?"),
        (["--verb", "frobnicate"], "there are create, update"),
        (["--drop-older-than", "0"], "0 days are none"),
    ],
)
def test_what_cannot_be(postgres: str, arguments: list[str], complaint: str) -> None:
    with pytest.raises(OperatorError, match=complaint):
        run(*arguments)


def test_days_that_are_over_are_dropped(tenants: tuple[Tenant, Tenant]) -> None:
    assert run("--drop-older-than", "30") == []
    assert len(whats()) == 4
