"""manage.py tenant and token, as scripts use them."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from django.core.management import CommandError, call_command

from apiserver.storage.models import BoundSubject
from apiserver.storage.visibility import django_everywhere
from apiserver.user import MASTERS
from controlplane.errors import OperatorError
from controlplane.kubeconfig import kubeconfig
from controlplane.supervisor.initialise import ADMIN, KUBECONFIG
from controlplane.tenancy import service, tokens
from controlplane.tenancy.models import ApiToken, Tenant

pytestmark = pytest.mark.usefixtures("postgres")


@pytest.fixture(autouse=True)
def default() -> None:
    service.ensure_tenant(service.DEFAULT)


def run(*arguments: str) -> str:
    return both(*arguments)[0]


def both(*arguments: str) -> tuple[str, str]:
    """Standard output and standard error."""
    out, err = StringIO(), StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def made_by(secret: str) -> ApiToken:
    with django_everywhere():
        return ApiToken.objects.select_related("tenant").get(hash=tokens.token_hash(secret.strip()))


def days_of(token: ApiToken) -> float | None:
    """How long the token lasts."""
    return (
        None
        if token.expires_at is None
        else round((token.expires_at - token.created_at) / timedelta(days=1), 2)
    )


def test_token_create_prints_the_token_and_nothing_else() -> None:
    run("tenant", "create", "commands")
    printed = run(
        "token",
        "create",
        "alice",
        "--uid",
        "alice-uid",
        "--group",
        "dev",
        "--group",
        "ops",
        "--tenant",
        "commands",
    )
    token = made_by(printed.rstrip("\n"))
    assert (token.user, token.uid, token.groups, token.tenant and token.tenant.name) == (
        "alice",
        "alice-uid",
        ["dev", "ops"],
        "commands",
    )
    assert printed == printed.strip() + "\n"


def test_several_tenants_are_made_by_one_command() -> None:
    words = ("--display-name", "Many", "--max-objects", "700", "-o", "json")
    made = json.loads(run("tenant", "create", "many-a", "many-b", *words))
    assert [(t["name"], t["displayName"], t["limits"]["maxObjects"]) for t in made] == [
        ("many-a", "Many", 700),
        ("many-b", "Many", 700),
    ]
    for names in (("many-c", "many-a"), ("many-c", "many-c"), ("many-c", "no_name")):
        with pytest.raises(OperatorError, match="cannot be created"):
            run("tenant", "create", *names)
    assert not Tenant.objects.filter(name="many-c").exists()
    assert run("tenant", "create", "many-d") == 'tenant "many-d" created: /clusters/many-d\n'


def test_token_list_shows_states_and_never_a_secret() -> None:
    secret = run("token", "create", "listed").strip()
    token = made_by(secret)
    assert "valid" in line(run("token", "list"), token)
    run("token", "revoke", str(token.pk))
    listed = run("token", "list")
    assert "revoked" in line(listed, token)
    assert secret not in listed


def line(text: str, token: ApiToken) -> str:
    return next(part for part in text.splitlines() if part.startswith(f"{token.pk} "))


def test_tenant_deletion_wants_a_yes() -> None:
    run("tenant", "create", "doomed")
    with pytest.raises(OperatorError, match="--yes"):
        run("tenant", "delete", "doomed")
    assert "doomed" in run("tenant", "list")
    run("tenant", "delete", "doomed", "--yes")
    assert "doomed" not in run("tenant", "list")


@pytest.mark.parametrize(
    "arguments",
    [("tenant", "suspend", "nobody"), ("token", "revoke", "999999999"), ("kubeconfig", "nobody")],
)
def test_what_does_not_exist_is_said_with_a_way_on(arguments: tuple[str, ...]) -> None:
    with pytest.raises(OperatorError, match=r"manage\.py (tenant|token) list"):
        run(*arguments)


def test_kubeconfig_for_a_user_holds_a_token_of_that_tenant_only() -> None:
    run("tenant", "create", "kc")
    config = yaml.safe_load(
        run(
            "kubeconfig",
            "kc",
            "--user",
            "bob",
            "--group",
            "dev",
            "--server",
            "https://api.example.com/",
        )
    )
    assert config["clusters"][0]["cluster"]["server"] == "https://api.example.com/clusters/kc"
    token = made_by(config["users"][0]["user"]["token"])
    assert (token.user, token.groups, token.tenant and token.tenant.name) == ("bob", ["dev"], "kc")
    assert days_of(token) == 90


# --- scope and expiry -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "tenant", "days"),
    [
        ((), "default", 90),
        (("--tenant", "default", "--days", "7"), "default", 7),
        (("--all-tenants",), None, 90),
        (("--all-tenants", "--no-expiry"), None, None),
    ],
)
def test_a_token_is_for_one_tenant_and_ends_unless_somebody_says_otherwise(
    arguments: tuple[str, ...], tenant: str | None, days: int | None
) -> None:
    """The finding: without --tenant a token was good everywhere, for ever."""
    out, err = both("token", "create", "scoped", *arguments)
    token = made_by(out)
    assert (token.tenant.name if token.tenant else None, days_of(token)) == (tenant, days)
    assert ('tenant "default" only' if tenant else "EVERY tenant") in err
    assert ("until 2" if days else "for ever") in err
    assert out.strip() not in err


@pytest.mark.parametrize("arguments", [("--days", "0"), ("--days", "-1"), ("--days", "99999999")])
def test_a_token_cannot_last_no_time_or_for_ever_by_number(arguments: tuple[str, ...]) -> None:
    with pytest.raises(OperatorError, match="--no-expiry"):
        run("token", "create", "short", *arguments)


@pytest.mark.parametrize(
    "arguments", [("--tenant", "default", "--all-tenants"), ("--days", "90", "--no-expiry")]
)
def test_scope_and_expiry_are_said_once(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="not allowed with"):
        run("token", "create", "twice", *arguments)


def test_a_tenants_kubeconfig_never_holds_the_operators_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finding: without --user it held the token of admin.kubeconfig, system:masters in every
    tenant."""
    monkeypatch.setenv("POLYPLANE_DATA_DIR", str(tmp_path))
    operators = tokens.create_token(ADMIN, groups=[MASTERS], tenant=None, lifetime=None).secret
    (tmp_path / KUBECONFIG).write_text(
        kubeconfig("https://127.0.0.1:6443", b"", ["default"], ADMIN, operators)
    )
    run("tenant", "create", "kca")
    out, err = both("kubeconfig", "kca")
    assert operators not in out
    token = made_by(yaml.safe_load(out)["users"][0]["user"]["token"])
    assert (token.user, token.groups, token.tenant and token.tenant.name, days_of(token)) == (
        ADMIN,
        [MASTERS],
        "kca",
        90,
    )
    assert 'tenant "kca" only' in err


def test_groups_without_a_user_do_not_make_an_administrator() -> None:
    with pytest.raises(OperatorError, match="--user"):
        run("kubeconfig", "default", "--group", "dev")


def test_what_a_tenant_declares_is_shown_and_changed() -> None:
    run(
        *("tenant", "create", "declares", "--owner", "User:alice", "--label", "team=x"),
        *("--deletion-protection", "on", "--expires", "7d"),
    )
    shown = yaml.safe_load(run("tenant", "show", "declares", "-o", "yaml"))
    assert (shown["owners"], shown["labels"]) == (["User:alice"], {"team": "x"})
    assert shown["deletionProtection"] is True and shown["expiresAt"]
    run(
        *("tenant", "update", "declares", "--owner", "none", "--label", "team-"),
        *("--label", "a=b", "--expires", "never", "--display-name", "D"),
    )
    shown = yaml.safe_load(run("tenant", "show", "declares", "-o", "yaml"))
    assert (shown["owners"], shown["labels"], shown["expiresAt"]) == ([], {"a": "b"}, None)
    with pytest.raises(OperatorError, match="protected from deletion"):
        run("tenant", "delete", "declares", "--yes")
    run("tenant", "update", "declares", "--deletion-protection", "off")
    run("tenant", "delete", "declares", "--yes")
    with pytest.raises(OperatorError, match="no tenant"):
        run("tenant", "show", "declares")


def test_many_are_selected_by_their_labels() -> None:
    for name, team in (("bulk-1", "x"), ("bulk-2", "x"), ("bulk-3", "y")):
        run("tenant", "create", name, "--label", f"bulk={team}")
    listed = yaml.safe_load(run("tenant", "list", "-l", "bulk=x", "-o", "yaml"))
    assert [tenant["name"] for tenant in listed] == ["bulk-1", "bulk-2"]
    with pytest.raises(OperatorError, match="--yes"):
        run("tenant", "suspend", "-l", "bulk=x")
    run("tenant", "suspend", "-l", "bulk=x", "--yes")
    states = yaml.safe_load(run("tenant", "list", "-l", "bulk", "-o", "yaml"))
    assert [tenant["state"] for tenant in states] == ["suspended", "suspended", "active"]
    with pytest.raises(OperatorError, match="--yes"):
        run("tenant", "delete", "-l", "bulk in (x)")
    run("tenant", "delete", "-l", "bulk in (x)", "--yes")
    left = yaml.safe_load(run("tenant", "list", "-l", "bulk", "-o", "yaml"))
    assert [tenant["name"] for tenant in left] == ["bulk-3"]


PLAIN = "tenant default has no owners, does not expire and is not suspended"
"""What the API says."""


def row_of_default() -> dict[str, object]:
    return Tenant.objects.filter(name="default").values().get()


@pytest.mark.parametrize(
    "words",
    [
        "suspend default",
        "update default --expires 1d",
        "update default --owner User:x",
        "update default --display-name Other --expires 1d --max-objects 90000",
    ],
)
def test_tenant_default_is_not_made_what_its_object_cannot_say(words: str) -> None:
    """The finding: success was told, and a second later all was as before."""
    before = row_of_default()
    with pytest.raises(OperatorError, match=PLAIN) as refused:
        run("tenant", *words.split())
    assert refused.value.fix
    assert row_of_default() == before


def test_tenant_default_is_refused_beside_what_is_done() -> None:
    run("tenant", "update", "default", "--label", "beside=x")
    for name in ("aa-beside", "zz-beside"):
        run("tenant", "create", name, "--label", "beside=x")
    before = row_of_default()
    selector = ("-l", "beside=x")
    with pytest.raises(OperatorError, match='"aa-beside", "zz-beside" would be suspended'):
        run("tenant", "suspend", *selector)
    out = StringIO()
    with pytest.raises(OperatorError, match=PLAIN):
        call_command("tenant", "suspend", *selector, "--yes", stdout=out)
    assert out.getvalue().split("\n") == [
        'tenant "aa-beside" suspended',
        'tenant "zz-beside" suspended',
        "",
    ]
    out = StringIO()
    with pytest.raises(OperatorError, match="stays"):
        call_command("tenant", "delete", *selector, "--yes", "-o", "json", stdout=out)
    assert [one["name"] for one in json.loads(out.getvalue())] == ["aa-beside", "zz-beside"]
    assert row_of_default() == before
    run("tenant", "update", "default", "--label", "beside-")


def test_all_that_is_refused_is_named() -> None:
    for name in ("kept-1", "kept-2"):
        run("tenant", "create", name, "--deletion-protection", "on")
    run("tenant", "create", "kept-3")
    with pytest.raises(OperatorError) as refused:
        run("tenant", "delete", "kept-1", "kept-3", "kept-2", "--yes")
    for name in ("kept-1", "kept-2"):
        assert f'Tenant "{name}" is protected' in refused.value.problem
        assert f"tenant update {name} --deletion-protection off" in refused.value.fix
    assert "kept-3" not in run("tenant", "list")


def test_tenant_default_may_be_told_what_it_is() -> None:
    run("tenant", "update", "default", "--owner", "none", "--expires", "never")
    run("tenant", "resume", "default")


@pytest.mark.parametrize("words", [(), ("acme", "-l", "a=b"), ("-l", "a in b")])
def test_it_has_to_be_clear_which_tenants_are_meant(words: tuple[str, ...]) -> None:
    with pytest.raises(OperatorError):
        run("tenant", "delete", *words, "--yes")


def test_the_tenants_of_a_token() -> None:
    run("tenant", "create", "of-dora", "--owner", "User:dora")
    run("tenant", "create", "of-devs", "--owner", "Group:devs-of-dora")
    run("tenant", "create", "of-others", "--owner", "User:eve")
    for scope, expected in (
        (["--all-tenants"], ["of-devs", "of-dora"]),
        (["--tenant", "of-dora"], ["of-dora"]),
        (["--tenant", "of-others"], []),
    ):
        made = run("token", "create", "dora", "--group", "devs-of-dora", *scope)
        out, err = both("token", "tenants", str(made_by(made).pk))
        assert out.split() == expected
        assert ("no tenant in which the token is good" in err) == (not expected)


def test_the_tenants_of_a_token_are_those_of_bindings_too() -> None:
    run("tenant", "create", "of-finn", "--owner", "User:finn")
    run("tenant", "create", "binds-finn")
    run("tenant", "create", "binds-nobody")
    with django_everywhere():
        for name, subject in (("of-finn", "Group:finns"), ("binds-finn", "User:finn")):
            number = Tenant.objects.get(name=name).pk
            BoundSubject.objects.create(tenant_id=number, uid=uuid4(), subject=subject)
    for scope, expected in (
        (["--all-tenants"], {"of-finn": ["owner", "binding"], "binds-finn": ["binding"]}),
        (["--tenant", "binds-finn"], {"binds-finn": ["binding"]}),
        (["--tenant", "binds-nobody"], {}),
    ):
        made = run("token", "create", "finn", "--group", "finns", *scope)
        told = json.loads(run("token", "tenants", str(made_by(made).pk), "-o", "json"))
        assert {tenant["name"]: tenant["through"] for tenant in told} == expected
