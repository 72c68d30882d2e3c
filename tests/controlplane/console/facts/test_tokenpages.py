"""Tokens by the console: the matrix of controlplane/console/facts/tokenrights.py, case by case."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from django.contrib.auth.models import Group, User
from django.test import Client

from apiserver.storage.models import AuditEntry
from apiserver.storage.visibility import django_everywhere
from controlplane import accounts
from controlplane.tenancy import tokens
from controlplane.tenancy.models import ApiToken, Tenant

from .conftest import Ask

EVERYWHERE: dict[str, Any] = {"allTenants": True}
OWNED, OTHER, DEFAULT = ({"tenant": name} for name in ("pages-owned", "pages-other", "default"))
BOB = {"user": "bob"}
MADE = [
    ("ann", {**OWNED}, 200),
    ("ann", {**EVERYWHERE}, 200),
    ("ann", {**OTHER, "groups": ["dev"]}, 200),
    ("ann", {**OTHER, "groups": []}, 200),
    ("ann", {**OTHER, "groups": ["dev", "ops"]}, 403),
    ("ann", {**OTHER, "groups": ["system:masters"]}, 403),
    ("ann", {**OTHER, "groups": ["polyplane:viewers"]}, 403),
    ("ann", {**OTHER, **BOB}, 403),
    ("ann", {**EVERYWHERE, **BOB}, 403),
    ("ann", {**OTHER, "other": True}, 403),
    ("looker", {**OTHER, **BOB}, 403),
    ("looker", {**OTHER}, 200),
    ("looker", {**OTHER, "groups": ["polyplane:viewers"]}, 403),
    ("owner", {**OWNED, **BOB, "groups": ["dev"]}, 200),
    ("owner", {**OTHER, **BOB}, 403),
    ("owner", {**DEFAULT, **BOB}, 403),
    ("owner", {**EVERYWHERE, **BOB}, 403),
    ("owner", {**OWNED, **BOB, "groups": ["system:masters"]}, 403),
    ("owner", {**OWNED, "user": "system:kube-controller-manager"}, 403),
    ("owner", {**OWNED, "user": "root", "groups": []}, 200),
    ("keeper", {**OTHER, **BOB}, 200),
    ("keeper", {**DEFAULT, **BOB}, 403),
    ("keeper", {**EVERYWHERE, **BOB}, 403),
    ("keeper", {**OTHER, **BOB, "groups": ["system:nodes"]}, 403),
    ("root", {**EVERYWHERE, **BOB, "groups": ["system:masters"]}, 200),
    ("root", {**DEFAULT, **BOB}, 200),
    ("root", {"tenant": "nowhere"}, 404),
    ("root", {}, 404),
    ("", {**OWNED}, 401),
]


@pytest.mark.parametrize(("who", "body", "code"), MADE)
def test_who_makes_which(ask: Ask, who: str, body: dict[str, Any], code: int) -> None:
    with django_everywhere():
        before = ApiToken.objects.count()
    status, answer = ask(who, "POST", "tokens", body)
    assert status == code, answer
    with django_everywhere():
        assert ApiToken.objects.count() == before + (code == 200)
    if code == 200:
        assert tokens.is_known(answer["token"])


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\0", "a" * 254, 1, ["a"], {"a": 1}])
@pytest.mark.parametrize("member", ["user", "description", "groups"])
def test_what_is_no_text_makes_none(ask: Ask, member: str, text: Any) -> None:
    said = [text] if member == "groups" else text
    assert ask("root", "POST", "tokens", {**OTHER, "user": "bob", member: said})[0] == 400


def test_his_own_is_by_uid_and_somebody_elses_has_none(ask: Ask, people: dict[str, User]) -> None:
    _, own = ask("ann", "POST", "tokens", EVERYWHERE)
    _, named = ask("owner", "POST", "tokens", {**OWNED, "user": "root"})
    with django_everywhere():
        assert ApiToken.objects.get(pk=own["id"]).uid == accounts.api_uid(people["ann"])
        assert ApiToken.objects.get(pk=own["id"]).groups == ["dev"]
        other = ApiToken.objects.get(pk=named["id"])
    assert (other.uid, other.tenant_id) == ("", Tenant.objects.get(name="pages-owned").pk)


def test_an_owner_whose_binding_is_not_there_yet_makes_none(ask: Ask) -> None:
    Tenant.objects.filter(name="pages-owned").update(bound_owners=[])
    assert ask("owner", "POST", "tokens", {**OWNED, **BOB})[0] == 403


@pytest.mark.parametrize("days", [0, -1, 367, "7", 1.5, True, None])
@pytest.mark.parametrize("who", ["ann", "keeper"])
def test_a_token_ends(ask: Ask, who: str, days: Any) -> None:
    assert ask(who, "POST", "tokens", {**OWNED, "days": days})[0] == 400


def test_a_superusers_may_last_for_ever(ask: Ask) -> None:
    status, answer = ask("root", "POST", "tokens", {**OWNED, "days": None})
    assert (status, answer["expires"]) == (200, None)


@pytest.mark.parametrize(
    "body",
    [
        {"user": ["x"]},
        {"user": "x" * 254},
        {"user": "a\0b"},
        {"groups": "dev"},
        {"groups": [1]},
        {"description": "x" * 201},
        [],
    ],
)
def test_what_makes_no_sense_is_a_bad_request(ask: Ask, body: Any) -> None:
    sent = {**OWNED, **body} if isinstance(body, dict) else body
    assert ask("root", "POST", "tokens", sent)[0] == 400


@pytest.mark.parametrize(
    ("who", "sees"),
    [
        ("root", {"anns", "bobs", "everywhere"}),
        ("looker", {"anns", "bobs", "everywhere"}),
        ("keeper", {"anns", "bobs"}),
        ("owner", {"anns", "bobs"}),
        ("ann", {"anns"}),
    ],
)
def test_who_sees_and_revokes_which(
    ask: Ask, people: dict[str, User], who: str, sees: set[str]
) -> None:
    with django_everywhere():
        ApiToken.objects.all().delete()
    tenant = Tenant.objects.get(name="pages-owned")
    uid = accounts.api_uid(people["ann"])
    made = {
        "anns": tokens.create_token("ann", uid=uid, tenant=tenant, description="anns"),
        "bobs": tokens.create_token("bob", tenant=tenant, description="bobs"),
        "everywhere": tokens.create_token("bob", tenant=None, description="everywhere"),
    }
    _, answer = ask(who, "GET", "tokens")
    assert {item["description"] for item in answer["items"]} == sees
    assert not any(new.secret in str(answer) for new in made.values())
    may = {
        "root": set(made),
        "keeper": {"bobs"},
        "owner": {"bobs"},
        "ann": {"anns"},
        "looker": set(),
    }[who]
    assert {i["description"] for i in answer["items"] if i["revocable"]} == may
    for name, new in made.items():
        expected = 200 if name in may else 403 if name in sees else 404
        assert ask(who, "DELETE", f"tokens/{new.token.pk}")[0] == expected, name
        assert tokens.is_known(new.secret) == (name not in may)


def test_making_and_revoking_are_in_the_tenants_audit_log_without_the_secret(ask: Ask) -> None:
    _, made = ask("owner", "POST", "tokens", {**OWNED, **BOB})
    ask("owner", "DELETE", f"tokens/{made['id']}")
    with django_everywhere():
        rows = list(AuditEntry.objects.filter(resource="tokens", name=str(made["id"])))
    assert {(row.verb, row.user_name, row.code) for row in rows} == {
        ("create", "owner", 200),
        ("revoke", "owner", 200),
    }
    assert {row.tenant_id for row in rows} == {Tenant.objects.get(name="pages-owned").pk}
    assert made["token"] not in str([row.data for row in rows])


def test_a_kubeconfig_is_of_the_tenant(ask: Ask) -> None:
    _, made = ask("ann", "POST", "tokens", {**OTHER, "kubeconfig": True})
    config = yaml.safe_load(made["kubeconfig"])
    assert config["users"][0]["user"]["token"] == made["token"]
    assert config["clusters"][0]["cluster"]["server"].endswith("/clusters/pages-other")


def test_what_is_sent_by_another_page_is_refused(people: dict[str, User]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people["root"])
    answer = client.post(
        "/admin/console/facts/tokens", "{}", content_type="application/json", secure=True
    )
    assert answer.status_code == 403


LEFT = ("left", "cleared", "put out", "emptied", "group deleted", "group renamed")


@pytest.mark.parametrize("what", ["disabled", "deleted", "demoted", *LEFT])
def test_tokens_end_with_what_they_stood_for(people: dict[str, User], what: str) -> None:
    account = User.objects.create(username=f"leaving-{what}", is_staff=True, is_superuser=True)
    group = Group.objects.create(name=f"pages-{what}")
    account.groups.add(group)
    uid = accounts.api_uid(account)
    tenant = Tenant.objects.get(name="pages-owned")
    root = tokens.create_token("x", uid=uid, tenant=tenant, groups=["system:masters"])
    dev = tokens.create_token("x", uid=uid, tenant=tenant, groups=[group.name])
    plain = tokens.create_token("x", uid=uid, tenant=tenant)
    named = tokens.create_token(account.username, tenant=tenant, groups=[group.name])
    match what:
        case "disabled":
            account.is_active = False
            account.save()
        case "deleted":
            account.delete()
        case "demoted":
            account.is_superuser = False
            account.save()
        case "left":
            account.groups.remove(group)
        case "cleared":
            account.groups.clear()
        case "put out":
            group.user_set.remove(account)
        case "emptied":
            group.user_set.clear()
        case "group deleted":
            group.delete()
        case "group renamed":
            group.name = f"{group.name}-2"
            group.save()
    all_of_it = what in {"disabled", "deleted"}
    assert tokens.is_known(named.secret)
    assert tokens.is_known(plain.secret) != all_of_it
    assert tokens.is_known(root.secret) != (all_of_it or what == "demoted")
    assert tokens.is_known(dev.secret) != (all_of_it or what in LEFT)
