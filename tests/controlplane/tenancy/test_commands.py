"""manage.py tenant and token, as scripts use them."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from controlplane.errors import OperatorError
from controlplane.tenancy import tokens
from controlplane.tenancy.models import ApiToken

pytestmark = pytest.mark.usefixtures("postgres")


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_token_create_prints_the_token_and_nothing_else() -> None:
    run("tenant", "create", "commands")
    printed = run("token", "create", "alice", "--uid", "alice-uid", "--group", "dev", "--group", "ops", "--tenant", "commands")
    token = ApiToken.objects.get(hash=tokens.token_hash(printed.rstrip("\n")))
    assert (token.user, token.uid, token.groups, token.tenant and token.tenant.name) == ("alice", "alice-uid", ["dev", "ops"], "commands")
    assert printed == printed.strip() + "\n"


def test_token_list_shows_states_and_never_a_secret() -> None:
    secret = run("token", "create", "listed").strip()
    token = ApiToken.objects.get(hash=tokens.token_hash(secret))
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


@pytest.mark.parametrize("arguments", [("tenant", "suspend", "nobody"), ("token", "revoke", "999999999"), ("kubeconfig", "nobody")])
def test_what_does_not_exist_is_said_with_a_way_on(arguments: tuple[str, ...]) -> None:
    with pytest.raises(OperatorError, match=r"manage\.py (tenant|token) list"):
        run(*arguments)


def test_kubeconfig_for_a_user_holds_a_token_of_that_tenant_only() -> None:
    import yaml

    run("tenant", "create", "kc")
    config = yaml.safe_load(run("kubeconfig", "kc", "--user", "bob", "--group", "dev", "--server", "https://api.example.com/"))
    assert config["clusters"][0]["cluster"]["server"] == "https://api.example.com/clusters/kc"
    token = ApiToken.objects.get(hash=tokens.token_hash(config["users"][0]["user"]["token"]))
    assert (token.user, token.groups, token.tenant and token.tenant.name) == ("bob", ["dev"], "kc")
