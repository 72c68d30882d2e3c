"""Platform roles: who holds them, in the console, by command and through the API."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from apiserver import platformroles
from apiserver.platformroles import EDITORS, METRICS_READERS, ROLES, TENANT_ADMINS, VIEWERS
from apiserver.user import MASTERS
from apiserver.user import User as ApiUser
from controlplane import accounts
from controlplane.console.facts.tenantpages import visible
from controlplane.errors import OperatorError
from controlplane.tenancy import service, tokens
from controlplane.tenancy.directory import Directory
from tests.controlplane.console.test_console import LISTS
from tests.controlplane.tenancy.test_directory import Clock, Database


def run(*words: str) -> Any:
    out = StringIO()
    call_command(*words, "-o", "json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


NAME = "account-of-roles"


@pytest.fixture
def account(postgres: str) -> User:
    User.objects.filter(username__startswith=NAME).delete()
    return User.objects.create(username=NAME)


def test_the_groups_come_with_the_database(postgres: str) -> None:

    assert set(Group.objects.filter(name__in=ROLES).values_list("name", flat=True)) == set(ROLES)


def test_roles_are_granted_and_revoked_by_command(account: User) -> None:
    granted = run("role", "grant", NAME, VIEWERS)
    assert granted["roles"] == [VIEWERS]
    account.refresh_from_db()
    assert account.is_staff and accounts.holds(account, VIEWERS)
    assert not accounts.holds(account, METRICS_READERS)
    (ann,) = (a for a in run("role", "list") if a["account"] == NAME)
    assert (ann["roles"], ann["superuser"]) == ([VIEWERS], False)
    assert run("role", "revoke", NAME, VIEWERS)["roles"] == []
    assert not accounts.holds(account, VIEWERS)
    with pytest.raises(OperatorError, match="no account 'nobody'") as refused:
        run("role", "grant", "nobody", VIEWERS)
    assert '"Console users"' in refused.value.fix


def test_superusers_hold_all_and_who_has_left_holds_none(account: User) -> None:
    account.is_superuser = True
    assert all(accounts.holds(account, role) for role in ROLES)
    account.is_active = False
    assert not any(accounts.holds(account, role) for role in ROLES)


@pytest.mark.parametrize("role", [None, TENANT_ADMINS, METRICS_READERS, EDITORS, VIEWERS])
def test_the_console_shows_tenants_to_viewers_alone(account: User, role: str | None) -> None:
    account.is_staff = True
    account.save()
    if role is not None:
        accounts.grant(account, role)
    client = Client()
    client.force_login(account)
    found = {n: client.get(f"/admin/{n}/", secure=True).status_code for n in LISTS}
    assert found.pop("auth/user") == 403
    assert set(found.values()) == {200 if role == VIEWERS else 403}


@pytest.mark.parametrize(
    ("role", "sees"),
    [
        (None, False),
        (METRICS_READERS, False),
        *((r, True) for r in (VIEWERS, EDITORS, TENANT_ADMINS)),
    ],
)
def test_tenants_are_listed_to_who_has_to_do_with_all(
    account: User, role: str | None, sees: bool
) -> None:
    service.ensure_tenant("accounts-listed")
    if role is not None:
        accounts.grant(account, role)
    assert ("accounts-listed" in {tenant.name for tenant in visible(account)}) is sees


def test_who_an_account_is_to_the_api(account: User) -> None:
    account.groups.add(Group.objects.get_or_create(name="dev")[0])
    accounts.grant(account, METRICS_READERS)
    assert accounts.api_groups(account) == ["dev"]
    service.create_tenant("accounts")
    words = ("--tenant", "accounts", "--as-account", "--group", "more")
    token = run("token", "create", NAME, *words)
    assert (token["user"], token["uid"]) == (NAME, f"console:{account.pk}")
    assert token["groups"] == ["dev", "more"]
    account.is_superuser = True
    assert accounts.api_groups(account) == ["dev", MASTERS]


async def test_a_token_for_all_tenants_has_the_roles_that_its_account_has_now(
    owner: str, account: User
) -> None:
    """The cases: where the token is good, what uid it has, and how its account is. Of the account
    that has the token's name, and of one that has got it since, it has nothing."""
    create = sync_to_async(tokens.create_token)
    uid = accounts.api_uid(account)
    everywhere = await create(NAME, tenant=None, uid=uid)
    tenant = await sync_to_async(service.create_tenant)("accounts-roles")
    one = await create(NAME, tenant=tenant, groups=[METRICS_READERS], uid=uid)
    number = account.pk
    others = [
        await create(NAME, tenant=None, uid=other)
        for other in (
            *("", str(number), f"console:{number + 1}", f"console:0{number}", f"console: {number}"),
            *(f" console:{number}", f"console:{number}\n", f"console:{number}x", "console:"),
            *("console:99999999999999999999", f"system:console:{number}", NAME),
        )
    ]

    async def roles(secret: str) -> frozenset[str]:
        user = await Directory(Database(owner).fetch, Clock()).token(secret, tenant.pk)
        assert user is not None
        return user.platform

    assert await roles(everywhere.secret) == frozenset()
    await sync_to_async(accounts.grant)(account, METRICS_READERS)
    await sync_to_async(account.groups.add)(
        (await sync_to_async(Group.objects.get_or_create)(name="dev"))[0]
    )
    assert await roles(everywhere.secret) == {METRICS_READERS}
    assert await roles(one.secret) == frozenset()
    assert [await roles(other.secret) for other in others] == [frozenset()] * len(others)
    itself = User.objects.filter(pk=account.pk)  # past the receivers, which end the tokens as well
    await itself.aupdate(username=f"{NAME}-renamed")
    successor = await sync_to_async(User.objects.create)(username=NAME)
    await sync_to_async(accounts.grant)(successor, TENANT_ADMINS)
    assert await roles(everywhere.secret) == {METRICS_READERS}
    assert await roles(others[0].secret) == frozenset()
    await itself.aupdate(is_active=False)
    assert await roles(everywhere.secret) == frozenset()


@pytest.mark.parametrize("how", ["disabled", "deleted"])
async def test_the_tokens_of_an_account_end_with_it(owner: str, account: User, how: str) -> None:
    create = sync_to_async(tokens.create_token)
    own = await create(NAME, tenant=None, uid=accounts.api_uid(account))
    named = await create(NAME, tenant=None)
    tenant = await sync_to_async(service.create_tenant)(f"accounts-{how}")

    async def is_good(secret: str) -> bool:
        directory = Directory(Database(owner).fetch, Clock())
        return await directory.token(secret, tenant.pk) is not None

    assert await is_good(own.secret)
    account.is_active = False
    await sync_to_async(account.save if how == "disabled" else account.delete)()
    assert not await is_good(own.secret)
    assert await is_good(named.secret)


@pytest.mark.parametrize(
    ("user", "held"),
    [
        (ApiUser("a"), False),
        (ApiUser("a", groups=(MASTERS,)), False),
        (ApiUser("a", groups=(METRICS_READERS,), everywhere=True), False),
        (ApiUser("a", everywhere=True), False),
        (ApiUser("a", groups=(MASTERS,), everywhere=True), True),
        (ApiUser("a", everywhere=True, platform=frozenset({METRICS_READERS})), True),
        (ApiUser("a", everywhere=True, platform=frozenset({VIEWERS})), False),
    ],
)
def test_groups_that_anybody_may_name_are_no_roles(user: ApiUser, held: bool) -> None:
    assert platformroles.holds(user, METRICS_READERS) == held
